"""JSON as Go's decoder takes it, for what it accepts and refuses is part of the API.

The first value counts and the rest is ignored; names match without regard to case; unknown
names are ignored; null leaves a field as it was; a field of another type is an error, and an
integer must be written as one (1.0 is refused).
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import cast

from stack.toxiproxy.api_error import bad_body

INT64_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Fields:
    """One JSON object, read field by field. Every reader raises ApiError 400."""

    values: dict[str, object]

    @classmethod
    def of(cls, value: object) -> Fields:
        if value is None:
            return cls({})
        if not isinstance(value, dict):
            raise bad_body(f"json: cannot unmarshal {_kind(value)} into an object")
        return cls({name.lower(): one for name, one in cast("dict[str, object]", value).items()})

    def text(self, name: str, default: str) -> str:
        value = self._value(name, default)
        if not isinstance(value, str):
            raise _wrong(value, name, "string")
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        value = self._value(name, default)
        if not isinstance(value, bool):
            raise _wrong(value, name, "bool")
        return value

    def integer(self, name: str, default: int) -> int:
        value = self._value(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > INT64_MAX:
            raise _wrong(value, name, "int64")
        return value

    def real(self, name: str, default: float) -> float:
        """To the precision of Go's float32."""
        value = self._value(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _wrong(value, name, "float32")
        return value if isinstance(value, int) else _float32(value)

    def object(self, name: str) -> Fields:
        return Fields.of(self.values.get(name))

    def _value(self, name: str, default: object) -> object:
        value = self.values.get(name.lower())
        return default if value is None else value


def first_value(body: bytes) -> object:
    text = body.decode("utf-8", errors="replace").lstrip(" \t\r\n")
    if not text:
        raise bad_body("EOF")
    try:
        return json.JSONDecoder(parse_constant=_refuse).raw_decode(text)[0]
    except ValueError as error:
        raise bad_body(str(error)) from error


def objects(value: object) -> list[Fields]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise bad_body(f"json: cannot unmarshal {_kind(value)} into an array")
    return [Fields.of(one) for one in cast("list[object]", value)]


def _refuse(name: str) -> object:
    raise ValueError(f"invalid character {name[0]!r} looking for beginning of value")


def _wrong(value: object, name: str, wanted: str) -> Exception:
    return bad_body(f"json: cannot unmarshal {_kind(value)} into field {name} of type {wanted}")


def _kind(value: object) -> str:
    match value:
        case bool():
            return "bool"
        case int() | float():
            return f"number {value}"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _float32(value: float) -> float:
    """The shortest number that is the same float32: what Go writes back."""
    try:
        wanted = struct.pack("f", value)
    except OverflowError as error:
        raise bad_body(f"json: cannot unmarshal number {value} into type float32") from error
    return next(
        short
        for digits in range(1, 18)
        if struct.pack("f", short := float(f"{value:.{digits}g}")) == wanted
    )
