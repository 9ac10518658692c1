"""One CTA at a time: from one access that others can see to the next.

Between two such accesses a CTA is deterministic. Its *stop* is the access that it is about to make
and the values that it will still need; CTAs at the same stop are interchangeable, and stops are
numbered. What an access does depends on the stop and on what its one cell holds, so that every
pair is computed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic

from kernels.residency.atomics import apply
from kernels.residency.instructions import (
    Access,
    Blocked,
    Branch,
    Compute,
    End,
    Guard,
    Jump,
    Move,
    Probe,
)
from kernels.residency.memory import Memory, OutOfBounds
from kernels.residency.program import Program
from kernels.residency.scalar import Scalar, Unknown
from kernels.residency.shaped import Value, elements

Index = tuple[int, int, int]
Turn = Jump | Move | Branch | Blocked | Guard
INSTRUCTIONS_MAX = 2_000_000  # of one CTA between two accesses: some seconds
CLOCK_EVERY = 1024  # instructions between two looks at the clock
WATCHED_FROM = 5_000  # instructions in a row; from here on a repeat is looked for
END = 0  # the stop of a CTA that came to its end
NOWHERE = -1  # the slot of a stop that touches nothing


class Undecided(Exception):
    """Something that the answer depends on cannot be told."""

    def __init__(self, why: str, place: str = "") -> None:
        super().__init__(f"{why} at {place}" if place else why)


class Outside(Undecided):
    """An access outside of every tensor: what it changes cannot be told."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Before which access a CTA is, with what it holds; `done` are the access's elements so far."""

    at: int
    values: tuple[Value, ...]
    done: tuple[Scalar, ...] = ()
    slot: int = NOWHERE  # of the cell that comes next; NOWHERE: it turns in registers for ever


@dataclass(frozen=True, slots=True)
class Step:
    """What one access does: the next stop, and what the cell holds then."""

    to: int
    value: Scalar
    reads: bool
    writes: bool


@dataclass(slots=True)
class Machine:
    """One launch of one program."""

    program: Program
    memory: Memory
    grid: Index
    arguments: Mapping[str, Scalar]  # by parameter; of a tensor its address
    until: float | None = None  # by the monotonic clock
    unlooked: set[str] = field(default_factory=set[str])  # places of probes that cannot be told
    stops: list[Stop] = field(default_factory=lambda: [Stop(-1, ())])
    _numbers: dict[Stop, int] = field(default_factory=dict[Stop, int])
    _steps: dict[tuple[int, Scalar], Step] = field(default_factory=dict[tuple[int, Scalar], Step])
    _constants: dict[str, Value] = field(default_factory=dict[str, Value])

    def __post_init__(self) -> None:
        x, y, z = self.grid
        self._constants = {
            **self.arguments,
            **self.program.constants,
            "grid.x": x,
            "grid.y": y,
            "grid.z": z,
        }

    def start(self, index: Index) -> int:
        """The first stop of a CTA. Undecided if what it does cannot be told."""
        values = dict(zip(("cta.x", "cta.y", "cta.z"), index, strict=True))
        return self._run(0, {**self._constants, **values})

    def step(self, stop: int, value: Scalar) -> Step:
        """What the access at a stop does to a cell that holds `value`."""
        key = (stop, value)
        found = self._steps.get(key)
        if found is None:
            found = self._steps[key] = self._make(stop, value)
        return found

    def access(self, stop: int) -> Access | None:
        """The access that is about to be made; None at the end, and where there is none."""
        if stop == END or self.stops[stop].slot == NOWHERE:
            return None
        found = self.program.instructions[self.stops[stop].at]
        assert isinstance(found, Access)
        return found

    def place(self, stop: int) -> str:
        """`kernel.py:12`, where the source says so; of a loop in registers a line of it."""
        for each in self.program.instructions[self.stops[stop].at :]:
            if isinstance(each, Access | Branch) and each.place:
                return each.place
        return ""

    # ---- steps ----

    def _make(self, stop: int, value: Scalar) -> Step:
        seen, access = self.stops[stop], self.access(stop)
        if access is None:
            return Step(stop, value, reads=False, writes=False)
        values = self._values(seen)
        element = len(seen.done)
        operands = tuple(elements(values[name], access.count)[element] for name in access.operands)
        did = apply(access, value, operands)
        if did.unknown:
            raise Undecided(f"what it stores or compares is unknown ({did.unknown})", access.place)
        if did.stays:
            return Step(stop, value, reads=True, writes=False)
        to = self._pause(seen.at, access, values, (*seen.done, did.result))
        if to is None:
            to = self._run(seen.at + 1, values)
        return Step(to, did.value, reads=did.reads, writes=did.writes)

    def _values(self, stop: Stop) -> dict[str, Value]:
        return {
            **self._constants,
            **dict(zip(self.program.live[stop.at], stop.values, strict=True)),
        }

    def _pause(
        self, at: int, access: Access, values: dict[str, Value], done: tuple[Scalar, ...]
    ) -> int | None:
        """The stop at an access's next element that others can see; None: there is none."""
        while len(done) < access.count:
            element = len(done)
            if self._masked(access, values, element):
                done = (*done, _otherwise(access, values, element))
                continue
            slot = self._slot(access, values, element)
            if access.shared:
                live = tuple(values[name] for name in self.program.live[at])
                return self._number(Stop(at, live, done, slot))
            done = (*done, self.memory.first[slot])
        if access.result is not None:
            values[access.result] = done if access.count > 1 else done[0]
        return None

    def _masked(self, access: Access, values: dict[str, Value], element: int) -> bool:
        if access.mask is None:
            return False
        mask = elements(values[access.mask], access.count)[element]
        if isinstance(mask, Unknown):
            raise Undecided(f"its mask is unknown ({mask.why})", access.place)
        return not mask

    def _slot(self, access: Access, values: dict[str, Value], element: int) -> int:
        address = elements(values[access.pointer], access.count)[element]
        if isinstance(address, Unknown):
            raise Undecided(f"its address is unknown ({address.why})", access.place)
        try:
            return self.memory.slot(int(address), access.element.element)
        except OutOfBounds as error:
            raise Outside(str(error), access.place) from error

    def _number(self, stop: Stop) -> int:
        found = self._numbers.get(stop)
        if found is None:
            found = self._numbers[stop] = len(self.stops)
            self.stops.append(stop)
        return found

    def _probe(self, probe: Probe, values: dict[str, Value]) -> None:
        """Outside if it goes out of its tensor; what cannot be told is noted."""
        addresses = elements(values[probe.pointer], probe.count)
        masks = elements(1 if probe.mask is None else values[probe.mask], probe.count)
        for address, mask in zip(addresses, masks, strict=True):
            if isinstance(mask, Unknown) or (mask and isinstance(address, Unknown)):
                self.unlooked.add(probe.place)
            elif mask:
                assert not isinstance(address, Unknown)
                try:
                    self.memory.require(int(address), probe.element.element)
                except OutOfBounds as error:
                    raise Outside(str(error), probe.place) from error

    # ---- running ----

    def _run(self, at: int, values: dict[str, Value]) -> int:
        """To the next access that others can see, or to the end."""
        seen: set[tuple[int, tuple[Value, ...]]] = set()
        code = self.program.instructions
        for count in self._counted():
            each = code[at]
            if isinstance(each, Compute):
                values[each.result] = each.evaluate(tuple(values[name] for name in each.operands))
                at += 1
            elif isinstance(each, Access):
                stop = self._pause(at, each, values, ())
                if stop is not None:
                    return stop
                at += 1
            elif isinstance(each, End):
                return END
            else:
                at = self._followed(each, at, values)
                if count > WATCHED_FROM and isinstance(each, Branch):
                    state = at, tuple(values[name] for name in self.program.live[at])
                    if state in seen:
                        return self._number(Stop(*state))
                    seen.add(state)
        raise Undecided(f"no access to memory for {INSTRUCTIONS_MAX} instructions")

    def _counted(self) -> Iterator[int]:
        """Numbers the instructions, as far as there is time for them."""
        for count in range(INSTRUCTIONS_MAX):
            if count % CLOCK_EVERY == 0 and self.until is not None and monotonic() > self.until:
                raise Undecided("no time is left")
            yield count

    def _followed(
        self,
        each: Jump | Move | Branch | Blocked | Guard | Probe,
        at: int,
        values: dict[str, Value],
    ) -> int:
        if isinstance(each, Probe):
            self._probe(each, values)
            return at + 1
        return _next(each, at, values)


def _guarded(each: Blocked | Guard, at: int, values: dict[str, Value]) -> int:
    if isinstance(each, Blocked):
        raise Undecided(each.why, each.place)
    high, step = values[each.high], values[each.step]
    if not isinstance(step, int) or step <= 0:
        raise Undecided("a counted loop whose step is not positive", each.place)
    if step > 1 and not (isinstance(high, int) and high <= each.highest - step + 1):
        raise Undecided("a counted loop whose count may wrap", each.place)
    return at + 1


def _next(each: Jump | Move | Branch | Blocked | Guard, at: int, values: dict[str, Value]) -> int:
    if isinstance(each, Jump):
        return each.target
    if isinstance(each, Blocked | Guard):
        return _guarded(each, at, values)
    if isinstance(each, Move):
        moved = [values[name] for name in each.of]
        values.update(zip(each.into, moved, strict=True))
        return at + 1
    condition = values[each.condition]
    if isinstance(condition, Unknown):
        raise Undecided(f"a branch depends on something unknown ({condition.why})", each.place)
    return each.yes if condition else each.no


def _otherwise(access: Access, values: dict[str, Value], element: int) -> Scalar:
    if access.other is None:
        return Unknown("an element that is masked")
    return elements(values[access.other], access.count)[element]
