"""Breaking code on purpose by machine: every small way to break a line, and who notices."""
