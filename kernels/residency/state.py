"""One CTA's execution state as bytes: where it is, what it holds, how far its loops are.

Two equal states over equal memory behave alike, which is what a proof of deadlock needs. A value
that cannot be turned into bytes makes the state unknown, and an unknown state is never equal.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

from kernels import interpreter
from kernels.interpreter import Array

# Frames of these files are the machinery between a kernel's source and the interpreter's builder.
# What they hold follows from the operation's operands, which are part of the state.
_MACHINERY = frozenset(
    {
        interpreter.__file__,
        interpreter.stock.__file__,
        interpreter.language.core.__file__,
        interpreter.language.semantic.__file__,
    }
)
_OWN = __package__ or ""


class Unfathomable(Exception):
    """A value of a kind whose state is not known."""


@dataclass(frozen=True, slots=True)
class Site:
    """The operation before which a CTA gave way."""

    operation: str
    address: int  # of its first element
    operands: bytes
    wanted: str = ""  # what a poll or a compare-and-swap waits to see
    deadline_ns: int | None = None  # virtual time at which a poll gives up


class ObservedLoop:
    """An iterator that tells how far it is: CPython keeps iterators where nobody can look."""

    __slots__ = ("__weakref__", "_iterator", "bounds", "position")

    def __init__(self, iterator: Iterator[object]) -> None:
        self._iterator = iterator
        # A range iterator pickles to its range and position; others only to their position here.
        self.bounds = repr(iterator.__reduce__()) if _is_range(iterator) else ""
        self.position = 0

    def __iter__(self) -> ObservedLoop:
        return self

    def __next__(self) -> object:
        self.position += 1
        return next(self._iterator)


def _is_range(iterator: Iterator[object]) -> bool:
    return type(iterator) is type(iter(range(0)))


@dataclass(slots=True)
class Loops:
    """The loops that a CTA is in, outermost first. A loop that was left is gone by itself."""

    _alive: list[weakref.ref[ObservedLoop]] = field(default_factory=list[Any])

    def watch(self, iterator: Iterator[object]) -> Iterator[object]:
        loop = ObservedLoop(iterator)
        self._alive = [ref for ref in self._alive if ref() is not None]
        self._alive.append(weakref.ref(loop))
        return loop

    def positions(self) -> list[tuple[str, int]]:
        loops = (ref() for ref in self._alive)
        return [(loop.bounds, loop.position) for loop in loops if loop is not None]


def kernel_frames(top: FrameType | None) -> list[FrameType]:
    """The frames of kernel source on a suspended CTA's stack, innermost first."""
    frames: list[FrameType] = []
    while top is not None:
        own = top.f_globals.get("__package__") == _OWN
        if not own and top.f_code.co_filename not in _MACHINERY:
            frames.append(top)
        top = top.f_back
    return frames


def state_of(top: FrameType | None, site: Site, loops: Loops, now_ns: int) -> bytes | None:
    """A digest of the whole state, or None if a part of it is unknown."""
    digest = hashlib.blake2b(digest_size=16)
    remaining = None if site.deadline_ns is None else site.deadline_ns - now_ns
    digest.update(repr((site.operation, site.address, remaining, loops.positions())).encode())
    digest.update(site.operands)
    try:
        for frame in kernel_frames(top):
            digest.update(f"\n{id(frame.f_code)}@{frame.f_lasti}".encode())
            for name, value in frame.f_locals.items():
                digest.update(f"\n{name}=".encode())
                for part in _parts(value):
                    digest.update(part)
    except Unfathomable:
        return None
    return digest.digest()


def _parts(value: Any) -> Iterator[bytes]:  # noqa: ANN401 - whatever a kernel's local may hold
    language = interpreter.language
    if isinstance(value, language.tensor):
        yield f"{value.type}".encode()
        yield from _parts(value.handle)
    elif isinstance(value, interpreter.TensorHandle):
        yield from _parts(value.data)
    elif isinstance(value, language.constexpr):
        yield from _parts(value.value)
    elif isinstance(value, (tuple, list, language.tuple)):
        yield f"({len(value)}".encode()
        for item in value:
            yield from _parts(item)
    else:
        yield _leaf(value)


def _leaf(value: Any) -> bytes:  # noqa: ANN401 - as above
    if isinstance(value, (np.ndarray, np.generic)):
        array: Array = np.asarray(cast("Array", value))
        return f"{array.dtype}{array.shape}".encode() + array.tobytes()
    if value is None or isinstance(value, (bool, int, float, str, bytes, range)):
        return f"{type(value).__name__}{value!r}".encode()
    if isinstance(value, (interpreter.language.dtype, FunctionType, ModuleType)) or _is_kernel(
        value
    ):
        return f"{type(value).__name__}#{id(value)}".encode()  # never changes; itself is its state
    raise Unfathomable(type(value).__name__)


def _is_kernel(value: object) -> bool:
    return isinstance(value, interpreter.stock.InterpretedFunction)
