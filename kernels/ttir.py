"""Triton IR as text, read into operations with their regions and values. No compiler needed.

Only what a data-flow question asks for: which operation makes a value, from which values, inside
which loop, and on which line of source. Names are made unique, since MLIR reuses `%3` in every
sibling region.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_LOCATION = re.compile(r"\s*loc\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_USED = re.compile(r"loc\((#loc\d*)\)\s*$")
_PLACE = re.compile(r'^"([^"]+)":(\d+):\d+$')
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_RESULT = re.compile(r"(%[\w$.-]+)(?::(\d+))?")
_NAME = re.compile(r'^"?([a-zA-Z_][\w.]*)')
_CARRIED = re.compile(r"(%[\w$.-]+) = (%[\w$.-]+)")


BLOCK = "^"  # stands where a further block of a function begins; its results are its arguments


@dataclass(slots=True)
class Region:
    """A block of operations, and the values it is entered with."""

    arguments: list[str] = field(default_factory=list[str])
    operations: list[Operation] = field(default_factory=list["Operation"])

    @property
    def terminator(self) -> Operation | None:
        return self.operations[-1] if self.operations else None

    def walk(self) -> Iterator[Operation]:
        for operation in self.operations:
            yield operation
            for region in operation.regions:
                yield from region.walk()


@dataclass(slots=True)
class Operation:
    """`results = name operands { regions }`; `carried` pairs a loop's argument and first value."""

    name: str
    results: list[str]
    operands: list[str]
    text: str
    place: str = ""  # "split_merge.py:73", where the source says so
    carried: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    regions: list[Region] = field(default_factory=list[Region])


def parse(text: str) -> Region:
    """The whole module as one region; what is not an operation (types, aliases) is skipped."""
    reader = _Reader(_places(text))
    for line in text.splitlines():
        reader.read(line)
    return reader.root


def _results(left: str) -> list[str]:
    """`%0:2 = ` makes `%0#0` and `%0#1`."""
    names: list[str] = []
    for name, many in _RESULT.findall(left):
        names += [f"{name}#{i}" for i in range(int(many))] if many else [name]
    return names


def _places(text: str) -> dict[str, str]:
    """Location aliases to `file:line`; of an inlined call, where the called line is."""
    aliases = dict(_ALIAS.findall(text))
    return {name: place for name in aliases if (place := _resolve(name, aliases))}


def _resolve(name: str, aliases: dict[str, str]) -> str:
    body = aliases.get(name, "")
    for _ in range(len(aliases)):
        if found := _PLACE.match(body):
            return f"{found[1].rsplit('/', 1)[-1]}:{found[2]}"
        inner = re.search(r"#loc\d*", body)
        body = aliases.get(inner[0], "") if inner else ""
    return ""


class _Reader:
    """Reads line by line; keeps the open regions, and which unique name a name has in each."""

    def __init__(self, places: dict[str, str]) -> None:
        self.root = Region()
        self._places = places
        self._regions = [self.root]
        self._scopes: list[dict[str, str]] = [{}]
        self._owners: list[Operation] = []
        self._count = 0

    def read(self, line: str) -> None:
        used = _USED.search(line)
        place = self._places.get(used[1], "") if used else ""
        line = _LOCATION.sub("", line).strip()
        if line.startswith("}"):
            self._close(line, place)
        elif line.startswith("^"):
            self._block(line)
        elif line and not line.startswith(("#", "//", "{-#")):
            self._operation(line, place)

    def _operation(self, line: str, place: str) -> None:
        left, equals, right = line.partition(" = ")
        if not (equals and left.startswith("%")):
            left, right = "", line
        name = _NAME.match(right)
        if name is None:
            return
        pairs = _CARRIED.findall(right) if name[1] in {"scf.while", "scf.for"} else []
        starts = {argument for argument, _ in pairs}
        operands = [self._use(value) for value in _VALUE.findall(right) if value not in starts]
        if name[1] == "tt.func":
            operands = []  # what it names are its parameters
        results = [self._define(value) for value in _results(left)]
        operation = Operation(name[1], results, operands, line, place)
        self._regions[-1].operations.append(operation)
        if line.endswith(("{", "({")):
            self._open(operation)
            operation.carried = [(self._define(into), self._use(of)) for into, of in pairs]

    def _block(self, line: str) -> None:
        """A label: the start of a region, or a further block of a function's."""
        region = self._regions[-1]
        arguments = [self._define(name) for name in _VALUE.findall(line)]
        if region.operations:
            label = re.split(r"[(:]", line[1:])[0]
            region.operations.append(Operation(BLOCK, arguments, [], label))
        else:
            region.arguments += arguments

    def _open(self, operation: Operation) -> None:
        operation.regions.append(Region())
        self._regions.append(operation.regions[-1])
        self._scopes.append({})
        self._owners.append(operation)
        if operation.name == "tt.func":
            names = _VALUE.findall(operation.text)
            operation.regions[0].arguments = [self._define(name) for name in names]

    def _close(self, line: str, place: str) -> None:
        if not self._owners:
            return
        owner = self._owners.pop()
        owner.place = owner.place or place
        self._regions.pop()
        self._scopes.pop()
        owner.text += line  # the types of an operation with regions stand behind them
        if line.endswith("{"):  # "} do {", "} else {"
            self._open(owner)

    def _define(self, name: str) -> str:
        self._count += 1
        self._scopes[-1][name] = f"{name}@{self._count}"
        return self._scopes[-1][name]

    def _use(self, name: str) -> str:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return name
