"""The names under which the experiment's own probes write what they read."""

SIGNAL = "signal"  # a reading that an operator could have seen
RESOURCE = "resource"  # a reading that must return to its baseline
