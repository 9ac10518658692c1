"""One oracle per file: pure functions of a finished history."""
