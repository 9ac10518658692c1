"""From a compiled launch to the CTAs that the prover runs."""

from __future__ import annotations

from kernels.compiled_launch import CompiledLaunch, TensorArgument
from kernels.residency.judge import Launch
from kernels.residency.machine import Machine
from kernels.residency.memory import Buffer, Memory
from kernels.residency.program import program_of
from kernels.residency.scalar import Scalar, Unknown
from kernels.residency.states import Budget
from kernels.residency.tree import short_name


def launch_of(
    compiled: CompiledLaunch, until: float | None = None, *, whole: bool = False
) -> Launch:
    """Every CTA of it, at its first access that others can see. Undecided if that cannot be told.

    `until` bounds the search, by the monotonic clock. `whole` leaves nothing out of the kernel.
    """
    program = program_of(compiled.ttir, whole=whole)
    given = {name: compiled.arguments.get(short_name(name)) for name in program.parameters}
    buffers = tuple(
        Buffer(name, value.element, value.count, value.contents)
        for name, value in given.items()
        if isinstance(value, TensorArgument)
    )
    memory = Memory(buffers)
    arguments: dict[str, Scalar] = {
        name: Unknown(f"the argument {short_name(name)}") if value is None else value
        for name, value in given.items()
        if not isinstance(value, TensorArgument)
    }
    machine = Machine(program, memory, compiled.grid, {**arguments, **memory.addresses})
    x, y, z = compiled.grid
    starts = [machine.start((i, j, k)) for k in range(z) for j in range(y) for i in range(x)]
    return Launch(machine, starts, Budget(until=until))
