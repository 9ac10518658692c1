"""What a user wrote cannot be used: one line says what was expected, what came, where to look."""


class BadInput(Exception):
    """Ends the command with exit code 2 and this one line."""
