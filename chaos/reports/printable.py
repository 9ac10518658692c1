"""What a terminal may be shown: last words of a log, and a history from elsewhere, are anything."""

from __future__ import annotations


def printable(text: str) -> str:
    """On one line, with each character escaped that does not print: a terminal obeys some of them,
    and half of a surrogate pair cannot be written at all."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
