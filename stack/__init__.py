"""The systems under test: how to start them, reach them and look at them."""
