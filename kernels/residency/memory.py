"""The tensors of a launch: where they lie, what they start with, and the cells that change."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from kernels.residency.scalar import NAN, Scalar, Unknown, bits_of, is_float, rounded, wrap

ALIGNMENT = 1 << 40  # far more than any tensor: an address out of one tensor meets no other
Cells = tuple[Scalar, ...]  # what cells hold, by slot; slots beyond its end are untouched


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tensor argument. `contents` are its elements, or one number for all; None: not told."""

    name: str
    element: str  # "i32", "f32", "bf16", ...
    count: int
    contents: Sequence[float] | float | None

    @property
    def title(self) -> str:
        """Its name as the source has it: the IR's is `%counter@1`."""
        return self.name.partition("@")[0].removeprefix("%")


class OutOfBounds(Exception):
    """An access outside of every tensor."""


@dataclass(slots=True)
class Memory:
    """Gives every cell that is met a slot; states keep values by slot."""

    buffers: tuple[Buffer, ...]
    addresses: dict[str, int] = field(default_factory=dict[str, int])
    slots: dict[int, int] = field(default_factory=dict[int, int])
    first: list[Scalar] = field(default_factory=list[Scalar])  # by slot, before the launch
    names: list[str] = field(default_factory=list[str])
    _starts: list[int] = field(default_factory=list[int])

    def __post_init__(self) -> None:
        for number, buffer in enumerate(self.buffers):
            self._starts.append((number + 1) * ALIGNMENT)
            self.addresses[buffer.name] = self._starts[-1]

    def slot(self, address: int, element: str) -> int:
        """OutOfBounds unless an element of a tensor lies there."""
        found = self.slots.get(address)
        if found is None:
            buffer, index = self._locate(address, element)
            found = self.slots[address] = len(self.first)
            self.first.append(_start(buffer, index))
            self.names.append(f"{buffer.title}[{index}]")
        return found

    def _locate(self, address: int, element: str) -> tuple[Buffer, int]:
        buffer, start = self._nearest(address)
        index, rest = divmod(start, _nbytes(buffer.element))
        if not 0 <= index < buffer.count:
            raise OutOfBounds(_beyond(buffer, index))
        if rest or bits_of(element) != bits_of(buffer.element):
            raise OutOfBounds(f"{buffer.title} of {buffer.element} is accessed as {element}")
        return buffer, index

    def _nearest(self, address: int) -> tuple[Buffer, int]:
        """The tensor in which, or before or behind which, an address lies; from its start."""
        number = bisect_right(self._starts, address + ALIGNMENT // 2) - 1
        if number < 0:
            raise OutOfBounds("an access before every tensor")
        return self.buffers[number], address - self._starts[number]

    def require(self, address: int, element: str) -> None:
        """OutOfBounds unless all bytes of it lie in one tensor."""
        buffer, start = self._nearest(address)
        nbytes, size = _nbytes(buffer.element), _nbytes(element)
        if not 0 <= start <= buffer.count * nbytes - size:
            raise OutOfBounds(_beyond(buffer, start // nbytes))

    def read(self, cells: Cells, slot: int) -> Scalar:
        return cells[slot] if slot < len(cells) else self.first[slot]

    def write(self, cells: Cells, slot: int, value: Scalar) -> Cells:
        """Equal memory is equal bit for bit: what is as at the start is not kept at the end."""
        if slot >= len(cells):
            cells += tuple(self.first[len(cells) : slot + 1])
        cells = (*cells[:slot], value, *cells[slot + 1 :])
        end = len(cells)
        while end and _same(cells[end - 1], self.first[end - 1]):
            end -= 1
        return cells[:end]


def _nbytes(element: str) -> int:
    return max(1, bits_of(element) // 8)


def _beyond(buffer: Buffer, index: int) -> str:
    return f"{buffer.title}[{index}] is accessed, which has {buffer.count}"


def _same(one: Scalar, other: Scalar) -> bool:
    return type(one) is type(other) and (one is other or one == other)


def _start(buffer: Buffer, index: int) -> Scalar:
    contents = buffer.contents
    if contents is None:
        return Unknown(f"what {buffer.title} holds")
    value = contents[index] if isinstance(contents, Sequence) else contents
    if is_float(buffer.element):
        return rounded(value, buffer.element)
    if value != value or not bits_of(buffer.element):  # noqa: PLR0124 - a NaN
        return NAN if is_float(buffer.element) else Unknown(f"a {buffer.element}")
    return wrap(int(value), bits_of(buffer.element))
