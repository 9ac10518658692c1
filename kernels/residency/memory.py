"""Where CTAs meet: each access through which one can see another gives way, each change is seen.

Atomics, polls and volatile loads give way before they act. Plain loads and stores need not: what
they read is ordered by those. They do so on request (to find races), and after a long run of plain
loads, because a loop of plain loads may be a wait as well.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import numpy as np

from kernels import interpreter
from kernels.interpreter import Array, Buffer, Handle
from kernels.residency.state import Site

PLAIN_LOADS_MAX = 256  # in a row, some tens of milliseconds of the interpreter
_STOCK: Any = interpreter.stock.InterpreterBuilder
_OPERATIONS = (
    "create_atomic_cas",
    "create_atomic_poll",
    "create_atomic_rmw",
    "create_masked_load",
    "create_masked_store",
)


class Arbiter(Protocol):
    """Who decides which CTA runs."""

    def give_way(self, site: Site) -> None: ...

    def changed(self) -> None: ...

    def now_ns(self) -> int: ...


@dataclass(slots=True)
class Memory:
    """Stands in for the builder's five memory operations while a grid is scheduled."""

    arbiter: Arbiter
    every_access: bool = False
    _plain_loads: int = field(default=0, init=False)

    @contextmanager
    def watched(self) -> Generator[None]:
        builder = interpreter.builder
        own = cast("dict[str, Callable[..., object]]", vars(builder))
        before = {name: own.get(name) for name in _OPERATIONS}
        for name in _OPERATIONS:
            setattr(builder, name, getattr(self, name))
        try:
            yield
        finally:
            for name, operation in before.items():
                _put_back(name, operation)

    def _give_way(self, operation: str, ptr: Handle, *operands: Handle, wanted: str = "") -> None:
        self._plain_loads = 0
        values = b"|".join(operand.data.tobytes() for operand in (ptr, *operands))
        self.arbiter.give_way(Site(operation, address_of(ptr), values, wanted))

    def create_masked_load(
        self, ptrs: Handle, mask: Handle, other: Handle | None, policy: object, is_volatile: object
    ) -> Handle:
        self._plain_loads += 1
        if is_volatile:
            self._give_way("volatile load", ptrs, mask)
        elif self.every_access or self._plain_loads > PLAIN_LOADS_MAX:
            self._give_way("load", ptrs, mask)
        return _STOCK.create_masked_load(
            interpreter.builder, ptrs, mask, other, policy, is_volatile
        )

    def create_masked_store(
        self, ptrs: Handle, value: Handle, mask: Handle, policy: object
    ) -> None:
        if self.every_access:
            self._give_way("store", ptrs, mask, value)
        before = read(ptrs, mask)
        _STOCK.create_masked_store(interpreter.builder, ptrs, value, mask, policy)
        # A store of what is there already is no progress, however often it happens.
        if before.tobytes() != read(ptrs, mask).tobytes():
            self.arbiter.changed()

    def create_atomic_rmw(
        self, operation: object, ptr: Handle, val: Handle, mask: Handle, *ordering: object
    ) -> Handle:
        self._give_way(f"atomic {operation}", ptr, mask, val)
        before = read(ptr, mask)
        old = _STOCK.create_atomic_rmw(interpreter.builder, operation, ptr, val, mask, *ordering)
        if before.tobytes() != read(ptr, mask).tobytes():
            self.arbiter.changed()
        return old

    def create_atomic_cas(self, ptr: Handle, cmp: Handle, val: Handle, *ordering: object) -> Handle:
        self._give_way("atomic cas", ptr, cmp, val, wanted=text_of(cmp.data))
        everywhere = _everywhere(ptr)
        before = read(ptr, everywhere)
        old = _STOCK.create_atomic_cas(interpreter.builder, ptr, cmp, val, *ordering)
        if before.tobytes() != read(ptr, everywhere).tobytes():
            self.arbiter.changed()
        return old

    def create_atomic_poll(
        self, ptr: Handle, expected: Handle, timeout_ns: object, *ordering: object
    ) -> Handle:
        """As the stock one, but each miss gives way and the timeout runs on virtual time."""
        timeout = interpreter.poll_timeout(timeout_ns)
        deadline = None if timeout is None else self.arbiter.now_ns() + int(timeout.data.item())
        matched = np.zeros(ptr.data.shape, np.bool_)
        operands = ptr.data.tobytes() + expected.data.tobytes()
        while True:
            self._plain_loads = 0
            state = operands + matched.tobytes()
            wanted = text_of(expected.data)
            self.arbiter.give_way(Site("poll", address_of(ptr), state, wanted, deadline))
            matched |= read(ptr, _everywhere(ptr)) == expected.data
            late = deadline is not None and self.arbiter.now_ns() >= deadline
            if late or matched.all():
                return interpreter.TensorHandle(matched, interpreter.language.int1)


def read(ptrs: Handle, mask: Handle) -> Array:
    """What is there now, without giving way; 0 where the mask hides it."""
    return _STOCK.create_masked_load(interpreter.builder, ptrs, mask, None, None, True).data


def snapshot(buffers: Iterable[Buffer]) -> bytes:
    """A digest of every tensor of a launch."""
    digest = hashlib.blake2b(digest_size=16)
    for buffer in buffers:
        digest.update(ctypes.string_at(buffer.address, buffer.nbytes))
    return digest.digest()


def value_at(address: int, nbytes: int) -> int:
    """The integer there, signed; counters are integers."""
    return int.from_bytes(ctypes.string_at(address, nbytes), "little", signed=True)


def address_of(ptr: Handle) -> int:
    return int(np.asarray(ptr.data).flat[0])


def text_of(data: Array) -> str:
    return str(data.item()) if data.size == 1 else f"{data.size} values"


def _everywhere(ptr: Handle) -> Handle:
    return interpreter.TensorHandle(np.ones_like(ptr.data, bool), interpreter.language.int1)


def _put_back(name: str, operation: Callable[..., object] | None) -> None:
    if operation is None:
        delattr(interpreter.builder, name)
    else:
        setattr(interpreter.builder, name, operation)
