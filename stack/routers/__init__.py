"""One module for each router: its command line and its log."""
