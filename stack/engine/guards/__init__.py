"""One guard a module: what it watches, which knob sets it, and when it acts."""
