"""Reading a Prometheus text page: samples with names, labels and values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

# The text format: https://prometheus.io/docs/instrumenting/exposition_formats/
_SAMPLE = re.compile(
    r"^(?P<name>[A-Za-z_:][\w:]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>\S+)(?:\s+-?\d+)?$"
)
_LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    labels: Mapping[str, str]
    value: float


def samples(page: str, wanted: Sequence[str] = ("*",)) -> Iterator[Sample]:
    """The samples of a page whose names fit one of these patterns, in their order. A line that is
    none is passed over, and so is, at little cost, the bulk of what a router counts."""
    fits = _names(tuple(wanted))
    for line in page.splitlines():
        found = _SAMPLE.match(line.strip()) if fits.match(line) else None
        if found is None:
            continue
        try:
            value = float(found["value"])
        except ValueError:
            continue
        yield Sample(found["name"], dict(_labels(found["labels"] or "")), value)


def _labels(text: str) -> Iterator[tuple[str, str]]:
    for name, value in _LABEL.findall(text):
        yield name, _ESCAPED.sub(_unescaped, value)


def _unescaped(found: re.Match[str]) -> str:
    return {"n": "\n"}.get(found[1], found[1])


@cache
def _names(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """The beginning of a line with such a name; `*` stands for any part of it."""
    either = "|".join(re.escape(one).replace(r"\*", r"[\w:]*") for one in patterns)
    return re.compile(rf"\s*(?:{either})(?![\w:])")
