"""Owns an expected file: which verdicts a suite gets on one stack behind one router.

A person reviews it, so it is TOML of the simplest layout, one strike a line:

    ["test_transfer.py::test_kv_transfer_stalled_in_the_middle"]
    "1: stall writer of prefill-0" = { verdict = "CAUGHT", by = "prefill_inflight_watchdog" }

Each line is read by itself, so that whatever is wrong with it is told by its number.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from chaos.expectation import Expectation, from_table, quoted, to_line

LAYOUT = 'a comment, ["test"], or "strike" = { verdict = "...", by = "..." }'


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    expectation: Expectation
    text: str
    comments: tuple[str, ...] = ()  # that stand above it

    @property
    def note(self) -> str:
        """The comment behind it on the same line."""
        marks = (place for place, one in enumerate(self.text) if one == "#")
        return next((self.text[one:] for one in marks if _is_whole(self.text[:one])), "")


@dataclass(frozen=True, slots=True)
class ExpectedFile:
    """What the file says; one that is not there yet says nothing."""

    path: Path
    title: tuple[str, ...] = ()  # the comments at its beginning
    tests: Mapping[str, Mapping[str, Line]] = field(default_factory=dict[str, dict[str, Line]])
    headers: Mapping[str, tuple[int, tuple[str, ...]]] = field(
        default_factory=dict[str, tuple[int, tuple[str, ...]]]
    )  # of each test: its line, and the comments above it
    tail: tuple[str, ...] = ()  # the comments at its end

    def line(self, test: str, key: str) -> Line | None:
        return self.tests.get(test, {}).get(key)

    def where(self, test: str, key: str | None = None) -> str:
        """`file:line` of a strike, or of its test; of the file where it has neither."""
        line = self.line(test, key) if key is not None else None
        number = line.number if line else self.headers.get(test, (0, ()))[0]
        return f"{self.path}:{number}" if number else str(self.path)


def read(path: Path) -> ExpectedFile:
    """ValueError, one line with file and number: what is no expected file of ours."""
    reading = _Reading(path)
    for number, text in enumerate(_text(path).split("\n"), start=1):
        try:
            reading.take(number, text.strip())
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}:{number}: {error}") from error
    return reading.file()


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected TOML in UTF-8: {error.reason}") from error


class _Reading:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._title: tuple[str, ...] = ()
        self._tests: dict[str, dict[str, Line]] = {}
        self._headers: dict[str, tuple[int, tuple[str, ...]]] = {}
        self._comments: list[str] = []
        self._test: str | None = None

    def take(self, number: int, text: str) -> None:
        if text.startswith("#"):
            self._comments.append(text)
        elif text.startswith("["):
            self._take_test(number, _only(text))
        elif text:
            self._take_strike(number, text)
        elif self._test is None and not self._title:
            self._title, self._comments = tuple(self._comments), []

    def _take_test(self, number: int, found: tuple[str, object]) -> None:
        test, inside = found
        if inside != {}:
            raise ValueError(f"expected {LAYOUT}")
        if test in self._headers:
            raise ValueError(f"{test!a} stands at line {self._headers[test][0]} already")
        self._headers[test] = (number, self._spoken())
        self._tests[test] = {}
        self._test = test

    def _take_strike(self, number: int, text: str) -> None:
        key, told = _only(text)
        if self._test is None:
            raise ValueError(f'expected a test, as ["test"], above the strike {key!a}')
        strikes = self._tests[self._test]
        if key in strikes:
            raise ValueError(f"{key!a} stands at line {strikes[key].number} already")
        strikes[key] = Line(number, from_table(told), text, self._spoken())

    def _spoken(self) -> tuple[str, ...]:
        said, self._comments = tuple(self._comments), []
        return said

    def file(self) -> ExpectedFile:
        return ExpectedFile(
            self._path, self._title, self._tests, self._headers, tuple(self._comments)
        )


def _only(text: str) -> tuple[str, object]:
    """The one key of this line, and its value. ValueError: no TOML, or of another layout."""
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = str(error).replace("at line 1, column", "at column")
        raise ValueError(f"expected {LAYOUT}; {where}") from error
    if len(told) != 1:
        raise ValueError(f"expected {LAYOUT}")
    return next(iter(cast("dict[str, object]", told).items()))


def parsed(text: str) -> tuple[str, Expectation]:
    """One strike's line, as `to_line` writes it."""
    key, told = _only(text)
    return key, from_table(told)


def _is_whole(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return False


Changes = Mapping[tuple[str, str], Expectation | None]  # (test, strike) -> the line; None: none


def write(path: Path, changes: Changes, title: str) -> None:
    """The file with these lines changed, sorted; under its name only when it is whole.

    Every other line, its comment and the reasons stay as they are.
    """
    before = read(path) if path.exists() else ExpectedFile(path, (f"# {title}",))
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f"{path.name}.{os.getpid()}.half")
    half.write_text("\n".join(_lines(before, changes)) + "\n", encoding="utf-8")
    half.replace(path)


def _lines(before: ExpectedFile, changes: Changes) -> Iterator[str]:
    yield from before.title
    for test in sorted({*before.tests, *(one for one, _ in changes)}):
        strikes = list(_strikes(before, changes, test))
        if strikes:
            yield ""
            yield from before.headers.get(test, (0, ()))[1]
            yield f"[{quoted(test)}]"
            yield from strikes
    if before.tail:
        yield from ("", *before.tail)


def _strikes(before: ExpectedFile, changes: Changes, test: str) -> Iterator[str]:
    """In the order of the plays and strikes."""
    known = before.tests.get(test, {})
    mine = {key: new for (whose, key), new in changes.items() if whose == test}
    for key in sorted({*known, *mine}, key=_natural):
        line = known.get(key)
        new = mine.get(key) if key in mine else (line.expectation if line else None)
        if new is None:
            continue
        yield from line.comments if line else ()
        if line is not None and line.expectation == new:
            yield line.text
        else:
            yield f"{to_line(key, new)} {line.note if line else ''}".rstrip()


def _natural(key: str) -> tuple[int, int, str]:
    """The play, the strike's number, its words: "10: kill" comes behind "9: kill"."""
    found = re.match(r"(?:play (\d+), )?(?:(\d+): )?", key)
    assert found is not None
    return int(found[1] or 1), int(found[2] or 0), key
