"""Tests of the stacks."""
