"""One CTA at a time: from one access that others can see to the next.

Between two such accesses a CTA is deterministic. Its *stop* is the access that it is about to make
and the values that it will still need; CTAs at the same stop are interchangeable, and stops are
numbered. What an access does depends on the stop and on what its one cell holds, so that every
pair is computed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernels.residency.atomics import apply
from kernels.residency.instructions import Access, Blocked, Branch, Compute, End, Guard, Jump, Move
from kernels.residency.memory import Memory, OutOfBounds
from kernels.residency.program import Program
from kernels.residency.scalar import Scalar, Unknown
from kernels.residency.shaped import Value, elements

Index = tuple[int, int, int]
INSTRUCTIONS_MAX = 2_000_000  # of one CTA between two accesses: some seconds
WATCHED_FROM = 5_000  # instructions in a row; from here on a repeat is looked for
END = 0  # the stop of a CTA that came to its end
NOWHERE = -1  # the slot of a stop that touches nothing


class Undecided(Exception):
    """Something that the answer depends on cannot be told."""

    def __init__(self, why: str, place: str = "") -> None:
        super().__init__(f"{why} at {place}" if place else why)


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
            raise Undecided(str(error), access.place) from error

    def _number(self, stop: Stop) -> int:
        found = self._numbers.get(stop)
        if found is None:
            found = self._numbers[stop] = len(self.stops)
            self.stops.append(stop)
        return found

    # ---- running ----

    def _run(self, at: int, values: dict[str, Value]) -> int:
        """To the next access that others can see, or to the end."""
        seen: set[tuple[int, tuple[Value, ...]]] = set()
        code = self.program.instructions
        for count in range(INSTRUCTIONS_MAX):
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
                at = _followed(each, at, values)
                if count > WATCHED_FROM and isinstance(each, Branch):
                    state = at, tuple(values[name] for name in self.program.live[at])
                    if state in seen:
                        return self._number(Stop(*state))
                    seen.add(state)
        raise Undecided(f"no access to memory for {INSTRUCTIONS_MAX} instructions")


def _guarded(each: Blocked | Guard, at: int, values: dict[str, Value]) -> int:
    if isinstance(each, Blocked):
        raise Undecided(each.why, each.place)
    step = values[each.step]
    if not isinstance(step, int) or step <= 0:
        raise Undecided("a counted loop whose step is not positive", each.place)
    return at + 1


def _followed(
    each: Jump | Move | Branch | Blocked | Guard, at: int, values: dict[str, Value]
) -> int:
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
