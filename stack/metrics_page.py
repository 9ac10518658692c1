"""Reading a Prometheus text page: samples with names, labels and values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

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


def samples(page: str) -> Iterator[Sample]:
    """Every sample of a page, in its order. A line that is none is passed over."""
    for line in page.splitlines():
        found = None if line.startswith("#") else _SAMPLE.match(line.strip())
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
