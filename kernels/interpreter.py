"""Triton 3.9's interpreter, corrected, and the one door through which its grids are launched.

Corrected, each held by a test that fails on the stock interpreter:
* `tl.dot` of bfloat16 multiplies the raw bits as integers;
* float32 to bfloat16 truncates, where hardware rounds to nearest even;
* `tl.atomic_poll` without a timeout raises on its first miss;
* float32 to float8 e4m3 drops carries, flushes subnormals and wraps instead of saturating.
And two costs removed: each call of a device function patched triton.language once more, and each
launch copied CPU tensors onto themselves.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kernels.pin import require_version

Array = NDArray[Any]
# Untyped, and private: there is no public way into the interpreter.
triton: Any = importlib.import_module("triton")
stock: Any = importlib.import_module("triton.runtime.interpreter")
language: Any = importlib.import_module("triton.language")
builder: Any = stock.interpreter_builder
TensorHandle: Any = stock.TensorHandle


class Handle(Protocol):
    """A value inside the interpreter: numpy bits and the Triton type they stand for."""

    data: Array
    dtype: Any


@dataclass(frozen=True, slots=True)
class Grid:
    """One launch: what to run for each CTA, and how many there are."""

    kernel: str
    size: tuple[int, int, int]
    run_cta: Callable[[], None]  # after `enter`


Dispatch = Callable[[Grid], None]


def enter(index: tuple[int, int, int]) -> None:
    """From here on the interpreter is this CTA; nothing else of it belongs to one CTA."""
    builder.grid_idx = index


def in_order(size: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """The order hardware is taken to dispatch in: x fastest. (Stock has x slowest.)"""
    return [(x, y, z) for z in range(size[2]) for y in range(size[1]) for x in range(size[0])]


def one_after_another(grid: Grid) -> None:
    for index in in_order(grid.size):
        enter(index)
        grid.run_cta()


@dataclass(slots=True)
class _Doors:
    """Where turns.py puts itself into."""

    dispatch: Dispatch = one_after_another


doors = _Doors()


def install() -> None:
    """Correct the interpreter of this process. Idempotent.

    Raises:
        ValueError: another Triton than the one whose faults are known.
        RuntimeError: TRITON_INTERPRET was not set before Triton was imported.
    """
    require_version(triton.__version__)  # what is wrong in this one may be right in another
    if not triton.knobs.runtime.interpret:
        raise RuntimeError("set TRITON_INTERPRET=1 before triton is imported")
    stock._convert_float = _convert_float  # noqa: SLF001 - the faulty function itself
    stock._patch_lang = _patch_once  # noqa: SLF001 - likewise
    builder.create_dot = _dot
    builder.create_atomic_poll = _poll
    stock.GridExecutor.__call__ = _launch


# ---- arithmetic ---------------------------------------------------------------------------------

_stock_convert: Callable[..., Array] = stock._convert_float  # noqa: SLF001 - corrected here
_stock_dot: Callable[..., Handle] = builder.create_dot
_stock_poll: Callable[..., Handle] = builder.create_atomic_poll


def _convert_float(value: Array, source: object, target: object, rounding: object) -> Array:
    if source == language.float32 and target == language.bfloat16:
        return round_to_bfloat16(value)
    if target == language.float8e4nv and source == language.float32:
        return round_to_e4m3(value)
    if target == language.float8e4nv and source in {language.float16, language.bfloat16}:
        wide = value.astype(np.float32) if source == language.float16 else _widen(value)
        return round_to_e4m3(wide)
    return _stock_convert(value, source, target, rounding)


def _widen(bits: Array) -> Array:
    return (bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def round_to_bfloat16(value: Array) -> Array:
    """float32 to the 16 bits of the nearest bfloat16, ties to even; NaN stays NaN."""
    bits = np.ascontiguousarray(value, np.float32).view(np.uint32)
    to_even = np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))
    is_nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    rounded = ((bits + to_even) >> 16).astype(np.uint16)
    return np.where(is_nan, np.uint16(0x7FC0), rounded)


def round_to_e4m3(value: Array) -> Array:
    """float32 to the 8 bits of the nearest e4m3, ties to even, saturating at 448.

    As `cvt.rn.satfinite.e4m3x2.f32` of the PTX ISA: infinities saturate too, NaN is 0x7F.
    """
    value = np.asarray(value, np.float32)
    size = np.minimum(np.abs(value), np.float32(448.0))
    # -6 is the exponent of subnormals, and of zero, which frexp gives none.
    exponent = np.where(size > 0, np.maximum(np.frexp(size)[1] - 1, -6), -6)
    steps = np.rint(np.ldexp(size, 3 - exponent)).astype(np.int32)  # in units of the last place
    # A mantissa that rounds up to 16 carries into the exponent by plain addition.
    bits = ((exponent + 6) << 3) + steps
    bits = np.where(np.isnan(value), 0x7F, bits) | (np.signbit(value).astype(np.int32) << 7)
    return bits.astype(np.uint8)


def _dot(a: Handle, b: Handle, *rest: object) -> Handle:
    def widened(side: Handle) -> Handle:
        narrow = side.dtype.scalar == language.bfloat16
        return builder.cast_impl(side, language.float32) if narrow else side

    return _stock_dot(widened(a), widened(b), *rest)


def _poll(ptr: Handle, expected: Handle, timeout_ns: object, *rest: object) -> Handle:
    return _stock_poll(ptr, expected, poll_timeout(timeout_ns), *rest)


def poll_timeout(timeout_ns: Any) -> Handle | None:  # noqa: ANN401 - a handle or an IR value
    """3.9 hands over an empty IR value, not None, for "no timeout"."""
    return timeout_ns if isinstance(timeout_ns, TensorHandle) else None


# ---- launch -------------------------------------------------------------------------------------

_patch_language: Callable[[object], Any] = stock._patch_lang  # noqa: SLF001 - see _patch_once
_patched: dict[frozenset[int], Any] = {}
_language_modules: dict[int, frozenset[int]] = {}  # by a module's globals, which live on


class _NothingToUndo:
    def restore(self) -> None: ...


def _patch_once(function: Any) -> _NothingToUndo:  # noqa: ANN401 - a kernel, of no public type
    """Patch the language modules that this function sees, unless it was done for this launch."""
    modules = _language_modules.get(id(function.__globals__))
    if modules is None:
        modules = frozenset(
            id(value)
            for value in function.__globals__.values()
            if inspect.ismodule(value) and value in (language, language.core)
        )
        _language_modules[id(function.__globals__)] = modules
    if modules not in _patched:
        _patched[modules] = _patch_language(function)
    return _NothingToUndo()


def _unpatch() -> None:
    while _patched:
        _patched.popitem()[1].restore()


_stock_launch: Callable[..., None] = stock.GridExecutor.__call__


def _launch(executor: Any, *args: object, **kwargs: object) -> None:  # noqa: ANN401 - untyped
    """Stands in for GridExecutor.__call__; tensors on a GPU take the stock way, copies and all."""
    signature = inspect.signature(executor.fn)
    kwargs = {name: value for name, value in kwargs.items() if name in signature.parameters}
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    given: dict[str, Any] = bound.arguments
    tensors = {name: value for name, value in given.items() if hasattr(value, "data_ptr")}
    if any(tensor.device.type != "cpu" for tensor in tensors.values()):
        _refuse_turns()
        _stock_launch(executor, *args, **kwargs)
        return
    for hook in executor.pre_run_hooks:
        hook(*args, **kwargs)
    outermost = not _patched
    _patch_once(executor.fn)
    try:
        doors.dispatch(_grid(executor, given))
    finally:
        if outermost:
            _unpatch()


def _refuse_turns() -> None:
    if doors.dispatch is not one_after_another:
        raise ValueError("CTAs take turns on tensors of the CPU only")


def _grid(executor: Any, given: Mapping[str, Any]) -> Grid:  # noqa: ANN401 - untyped
    convert: Callable[[object], object] = stock._implicit_cvt  # noqa: SLF001 - no public one
    arguments = {
        name: value if name in executor.constexprs else convert(value)
        for name, value in given.items()
    }
    wanted: Any = executor.grid(arguments) if callable(executor.grid) else executor.grid
    x, y, z, *_ = (*wanted, 1, 1)
    size = (int(x), int(y), int(z))
    builder.set_grid_dim(*size)
    return Grid(
        executor.fn.__name__,
        size,
        lambda: executor.fn(**arguments),
    )
