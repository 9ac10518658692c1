"""The text of a prompt: printable ASCII that no two requests share."""

from __future__ import annotations

from random import Random
from typing import Final

LETTERS: Final = "abcdefghijklmnopqrstuvwxyz "
NONCE_BYTES: Final = 12  # "[" and ten hexadecimal digits and "]"


def prompt(rng: Random, size_bytes: int) -> str:
    """Exactly this many bytes, beginning with a nonce, so that a reply made from another
    request's prompt, or from its KV pages, is a different reply.
    """
    assert size_bytes >= NONCE_BYTES
    filler = "".join(rng.choices(LETTERS, k=size_bytes - NONCE_BYTES))
    return f"[{rng.getrandbits(40):010x}]{filler}"


def at_least(bytes_min: int, **sizes_bytes: int) -> None:
    """ValueError that names the first of these texts that is too short for what begins it."""
    for name, size_bytes in sizes_bytes.items():
        if size_bytes < bytes_min:
            raise ValueError(
                f"{name} must be at least {bytes_min}, not {size_bytes}: a nonce of"
                f" {NONCE_BYTES} bytes belongs in it"
            )


def positive(**numbers: float) -> None:
    """ValueError that names the first of these numbers that is not above zero."""
    for name, number in numbers.items():
        if number <= 0:
            raise ValueError(f"{name} must be above zero, not {number}")


def not_negative(**numbers: float) -> None:
    """ValueError that names the first of these numbers that is below zero."""
    for name, number in numbers.items():
        if number < 0:
            raise ValueError(f"{name} must not be negative, not {number}")
