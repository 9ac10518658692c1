"""Text to tokens and back: one token is one byte is one printable character."""

from __future__ import annotations

from collections.abc import Iterable

# Printable ASCII stands for itself, every other byte for one printable letter from U+0100 on,
# so that a reply fed back as a prompt becomes the very same tokens.
_SHIFT = 0x100
_CHARACTERS = tuple(
    chr(byte) if 0x20 <= byte < 0x7F else chr(_SHIFT + byte)  # noqa: PLR2004 - ASCII's printable range
    for byte in range(256)
)
_TOKENS = {character: token for token, character in enumerate(_CHARACTERS)}

SIZE = 257
END = 256  # has no character: it ends a reply


def encode(text: str) -> list[int]:
    """A character outside the alphabet becomes the tokens of its UTF-8 bytes."""
    tokens: list[int] = []
    for character in text:
        token = _TOKENS.get(character)
        if token is None:
            tokens.extend(character.encode("utf-8", "surrogatepass"))
        else:
            tokens.append(token)
    return tokens


def decode(tokens: Iterable[int]) -> str:
    return "".join(_CHARACTERS[token] for token in tokens if token != END)
