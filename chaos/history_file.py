"""Owns a history's file: JSON lines that can be appended while the experiment happens.

    {"format": "pd-chaos history", "version": 1, "specification": {...}, "control": {...} | null}
    {"part": "control"}      only with a control; its marks follow, in the order of arrival
    {"part": "run"}          the run's marks follow, in the order of arrival
    {"end": 1234}            how many marks stand above; a file without it was cut off

Order and numbers are not written: reading sorts by time and numbers again, as the recorder does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import IO, cast

from chaos.event import Event, Kind, Mark
from chaos.garbage import uncollected
from chaos.history import History
from chaos.mark_json import Row, dump, row
from chaos.specification import Specification
from chaos.specification_json import from_json, to_json

FORMAT = "pd-chaos history"
VERSION = 1
DECODE = json.JSONDecoder().raw_decode  # half of the time of json.loads, for a line without spaces
READABLE_MAX = 120  # characters of a name: file systems take 255 bytes


class CutOff(ValueError):
    """The file ends before its end line. What is there can be read by `salvage`."""


def name_of(suite: Path, test: str) -> str:
    """The name of a test's history. Two tests of one name in two folders do not share it."""
    readable = re.sub(r"[^\w.-]+", "-", f"{suite.stem}-{test}").strip("-")[:READABLE_MAX]
    return f"{readable}-{sha256(f'{suite}::{test}'.encode()).hexdigest()[:6]}.jsonl"


def write(path: Path, history: History) -> None:
    """Write a finished history. It stands under its name only when it is whole."""
    half = path.with_name(f"{path.name}.half")
    with half.open("w", encoding="utf-8") as file:
        begin(file, history.specification, history.control)
        append(file, history.events)
        end(file, len(history) + len(history.control or ()))
    half.replace(path)


def begin(file: IO[str], specification: Specification, control: History | None) -> None:
    header = {
        "format": FORMAT,
        "version": VERSION,
        "specification": to_json(specification),
        "control": None if control is None else to_json(control.specification),
    }
    file.write(json.dumps(header) + "\n")
    if control is not None:
        file.write('{"part":"control"}\n')
        append(file, control.events)
    file.write('{"part":"run"}\n')


def append(file: IO[str], marks: Sequence[Mark] | Sequence[Event]) -> None:
    file.writelines(f"{dump(one)}\n" for one in marks)


def end(file: IO[str], count: int) -> None:
    file.write(f'{{"end":{count}}}\n')


@dataclass
class _Parts:
    specification: Specification
    control_specification: Specification | None
    control: list[Row] = field(default_factory=list[Row])
    run: list[Row] = field(default_factory=list[Row])
    half: str = "no end line"
    ended: bool = False

    def __post_init__(self) -> None:
        self.into = self.run

    @property
    def count(self) -> int:
        return len(self.control) + len(self.run)

    def history(self) -> History:
        control = None
        if self.control_specification is not None:
            control = History(_events(self.control), self.control_specification)
        return History(_events(self.run), self.specification, control)


@uncollected()
def read(path: Path) -> History:
    """The history that was written, equal in every value.

    ValueError: empty, foreign, newer, or damaged; CutOff (a ValueError): the end is missing.
    """
    parts = _parts(path)
    if not parts.ended:
        raise CutOff(
            f"{path}: expected an end line, came to the end of the file after {parts.count} marks "
            f"({parts.half}): it was cut off"
        )
    return parts.history()


@uncollected()
def salvage(path: Path) -> History:
    """As much as a cut-off file holds. Its last mark is ours, and says so: nothing is proven."""
    parts = _parts(path)
    if not parts.ended:
        last_ns = max((one[0] for one in parts.run), default=0)
        why = {"why": f"the history's file was cut off: {parts.half}"}
        parts.run.append((last_ns, "run", Kind.TOOL_ERROR, str(path), None, None, why))
    return parts.history()


def _events(rows: list[Row]) -> tuple[Event, ...]:
    """As the recorder gives marks their places; a million of them are not made into marks first."""
    rows.sort(key=itemgetter(0))
    return tuple([Event(seq, *one) for seq, one in enumerate(rows)])


def _parts(path: Path) -> _Parts:
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = enumerate(file, start=1)
        parts = _header(path, next(lines, (1, ""))[1])
        for number, line in lines:
            if parts.ended:
                raise _wrong(path, number, "nothing after the end line", line)
            if not line.endswith("\n"):
                parts.half = f"half a line, at line {number}"
                break
            _take(path, number, line, parts)
    return parts


def _header(path: Path, line: str) -> _Parts:
    if not line:
        raise ValueError(f"{path}: expected a {FORMAT}, the file is empty")
    told = _object(path, 1, line)
    if told.get("format") != FORMAT:
        raise _wrong(path, 1, f'the header of a {FORMAT}: {{"format": "{FORMAT}", ...}}', line)
    if told.get("version") != VERSION:
        raise _wrong(path, 1, f"version {VERSION}, which this release reads", line)
    try:
        control = told.get("control")
        return _Parts(
            from_json(told.get("specification")), None if control is None else from_json(control)
        )
    except ValueError as error:
        raise ValueError(f"{path}, line 1: {error}") from error


def _take(path: Path, number: int, line: str, parts: _Parts) -> None:
    told = _object(path, number, line)
    if "end" in told:
        if told["end"] != parts.count:
            raise _wrong(path, number, f"an end line that counts {parts.count} marks", line)
        parts.ended = True
    elif "part" in told:
        if told["part"] not in ("control", "run"):
            raise _wrong(path, number, 'a part called "control" or "run"', line)
        parts.into = parts.control if told["part"] == "control" else parts.run
    else:
        try:
            parts.into.append(row(told))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from error


def _object(path: Path, number: int, line: str) -> Mapping[str, object]:
    try:
        told, end = DECODE(line)
    except (ValueError, RecursionError) as error:  # of brackets in brackets
        raise _wrong(path, number, "a JSON object", line) from error
    if not isinstance(told, dict) or line[end:] not in ("", "\n"):
        raise _wrong(path, number, "a JSON object", line)
    return cast("Mapping[str, object]", told)


def _wrong(path: Path, number: int, expected: str, came: str) -> ValueError:
    return ValueError(f"{path}, line {number}: expected {expected}, came {came[:80].rstrip()!a}")
