"""From a compiled launch to the CTAs that the prover runs."""

from __future__ import annotations

from kernels.compiled_launch import CompiledLaunch, TensorArgument
from kernels.residency.judge import Launch
from kernels.residency.machine import Machine
from kernels.residency.memory import Buffer, Memory
from kernels.residency.program import program_of
from kernels.residency.scalar import Scalar, Unknown, bits_of, is_float, rounded, wrap
from kernels.residency.states import Budget
from kernels.residency.tree import short_name


def launch_of(
    compiled: CompiledLaunch,
    until: float | None = None,
    *,
    whole: bool = False,
    bounds: bool = False,
) -> Launch:
    """Every CTA of it, at its first access that others can see. Undecided if that cannot be told.

    `until` bounds the search, by the monotonic clock. `whole` leaves nothing out of the kernel,
    `bounds` looks at where every access goes as well.
    """
    program = program_of(compiled.ttir, all_accesses=whole, bounds=bounds)
    given = {name: compiled.arguments.get(short_name(name)) for name in program.parameters}
    buffers = tuple(
        Buffer(name, value.element, value.count, value.contents)
        for name, value in given.items()
        if isinstance(value, TensorArgument)
    )
    memory = Memory(buffers)
    arguments: dict[str, Scalar] = {
        name: _passed(short_name(name), value, program.kinds.get(name, ""))
        for name, value in given.items()
        if not isinstance(value, TensorArgument)
    }
    machine = Machine(program, memory, compiled.grid, {**arguments, **memory.addresses}, until)
    x, y, z = compiled.grid
    starts = [machine.start((i, j, k)) for k in range(z) for j in range(y) for i in range(x)]
    return Launch(machine, starts, Budget(until=until))


def _passed(name: str, value: float | None, kind: str) -> Scalar:
    """A number as the kernel gets it: Python's float is rounded to 32 bits, its integer wraps."""
    if value is None:
        return Unknown(f"the argument {name}")
    if is_float(kind):
        return rounded(value, kind)
    return wrap(int(value), bits_of(kind)) if bits_of(kind) else Unknown(f"a {kind}")
