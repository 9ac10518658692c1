"""One module for each kind of stack that we can start."""
