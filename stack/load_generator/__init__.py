"""The process that plays requests against a stack and tells what became of them."""
