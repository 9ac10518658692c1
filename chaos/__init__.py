"""The experiment engine: plan an experiment, run it, keep its history, judge it."""
