"""Measures what the design promises; prints each budget beside what was measured, and the load."""
