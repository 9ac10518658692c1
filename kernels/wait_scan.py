"""Says from Triton IR whether a kernel can wait for another CTA, and where.

A wait is a loop that ends by what it reads from memory again and again, or an `atomic_poll`. The
scan errs on one side: a counted spin, a lock and a loop over a linked list are called waits
although they may end by themselves; a kernel in which it finds nothing waits for nobody, since
apart from such a loop every CTA runs to its end. A loop over plain loads alone is removed by the
compiler's clean-up, so that the IR is to be scanned before it as well (see frontend.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernels.ttir import Operation, Region, parse

READS = {
    "tt.atomic_rmw": "an atomic",
    "tt.atomic_cas": "a compare-and-swap",
    "tt.atomic_load": "an atomic load",
    "tt.atomic_poll": "a poll",
    "tt.load": "a plain load",
    "tt.descriptor_load": "a plain load",
    "tt.descriptor_gather": "a plain load",
    "tt.call": "a call that reads memory",
    "tt.elementwise_inline_asm": "inline assembly",
    "tt.extern_elementwise": "a library call",
}


@dataclass(frozen=True, slots=True)
class Wait:
    """One place where a CTA can wait for another."""

    by: str  # "loop on an atomic", "atomic_poll with a timeout"
    place: str  # "split_merge.py:73", or "" when the IR does not tell
    bounded: bool = False  # ends by the GPU's clock at the latest

    def __str__(self) -> str:
        return f"{self.by} at {self.place}" if self.place else self.by


def waits(ttir: str) -> tuple[Wait, ...]:
    """Every wait of a kernel's IR, in the order of its text; none: no CTA waits for another."""
    module = parse(ttir)
    readers = _reading_functions(module)
    found: list[Wait] = []
    for operation in module.walk():
        found += _wait(operation, readers)
    return tuple(dict.fromkeys(found))


def _reading_functions(module: Region) -> set[str]:
    """Functions that read memory, by themselves or through what they call."""
    bodies = {
        _symbol(each): [inner for region in each.regions for inner in region.walk()]
        for each in module.walk()
        if each.name == "tt.func"
    }
    readers: set[str] = set()
    for _ in bodies:  # a call chain is at most as long as there are functions
        for name, body in bodies.items():
            if any(_is_read(operation, readers) for operation in body):
                readers.add(name)
    return readers


def _symbol(operation: Operation) -> str:
    found = re.search(r"@([\w.$-]+|\"[^\"]+\")", operation.text)
    return found[1] if found else ""


def _is_read(operation: Operation, readers: set[str]) -> bool:
    if operation.name == "tt.call":
        return _symbol(operation) in readers
    return operation.name in READS


def _wait(operation: Operation, readers: set[str]) -> Iterator[Wait]:
    if operation.name == "tt.atomic_poll":
        timed = " timeout " in operation.text
        by = "atomic_poll with a timeout" if timed else "atomic_poll"
        yield Wait(by, operation.place, bounded=timed)
    if operation.name == "tt.elementwise_inline_asm" and "bra" in operation.text:
        yield Wait("inline assembly that branches", operation.place)
    if operation.name == "scf.while":
        yield from _ends_by_memory(operation, readers)


def _ends_by_memory(loop: Operation, readers: set[str]) -> Iterator[Wait]:
    before = loop.regions[0].terminator
    if before is None or not before.operands:
        return
    sources = _sources(loop)
    reads = {result: read for read in _reads(loop, readers) for result in read.results}
    pending, seen = [before.operands[0]], set[str]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in reads:
            read = reads[value]
            yield Wait(f"loop on {_kind(read)}", read.place or loop.place)
        pending += sources.get(value, ())


def _kind(read: Operation) -> str:
    return "a volatile load" if "isVolatile = true" in read.text else READS[read.name]


def _reads(loop: Operation, readers: set[str]) -> Iterator[Operation]:
    for region in loop.regions:
        yield from (operation for operation in region.walk() if _is_read(operation, readers))


def _sources(loop: Operation) -> dict[str, list[str]]:
    """For every value made inside the loop, the values it is made from."""
    sources: dict[str, list[str]] = {}
    _flow(loop, sources)
    for region in loop.regions:
        for operation in region.walk():
            _flow(operation, sources)
    return sources


def _flow(operation: Operation, sources: dict[str, list[str]]) -> None:
    ends = [region.terminator for region in operation.regions]
    leaving = [value for end in ends if end is not None for value in end.operands]
    for result in operation.results:
        sources.setdefault(result, []).extend([*operation.operands, *leaving])
    turned = ends[-1].operands if ends and ends[-1] is not None else []
    for place, (argument, first) in enumerate(operation.carried):
        sources.setdefault(argument, []).extend([first, *turned[place : place + 1]])
    if operation.name == "scf.while":
        _into_body(operation.regions, sources)


def _into_body(regions: list[Region], sources: dict[str, list[str]]) -> None:
    """What the condition passes on is what the body's arguments are."""
    condition = regions[0].terminator
    passed = condition.operands[1:] if condition is not None else []
    for argument, value in zip(regions[-1].arguments, passed, strict=False):
        sources.setdefault(argument, []).append(value)
