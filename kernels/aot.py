"""`python -m kernels aot`: compile all that we ship without a GPU, compare with the golden table.

Fails on a spill without a reason, on more shared memory than a CTA can have (the compiler does not
check that), on a handshake without its memory order, and on any difference from the table.
"""

import argparse
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path

from kernels import golden
from kernels.device import ARCHITECTURES
from kernels.golden import Row
from kernels.pin import require_pinned_triton

COMPILE_S_MAX = 600.0  # all configurations on two busy cores take about a minute
# What the PTX of each combine mode must contain: the order that makes the partial results visible.
REQUIRED_ORDERS = {
    "two_pass": (),
    "last_arriver": ("acq_rel",),
    "owner_spin": ("release", "acquire"),
    "spin_all": ("release", "acquire"),
    "grid_barrier": ("release", "acquire"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--update", action="store_true", help="write the golden table anew")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name contains TEXT")
    parser.add_argument("--golden", type=Path, default=golden.GOLDEN, help="the table to compare")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1), metavar="N")


def main(args: argparse.Namespace) -> int:
    """0: as the table says. 1: something must not ship, or differs. ValueError: bad usage."""
    require_pinned_triton()
    if args.jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {args.jobs}")
    rows = compile_rows(args.only, args.jobs)
    if not rows:
        raise ValueError(f"no configuration contains {args.only!r}")
    say(table(rows))
    wrong = list(chain.from_iterable(row.complaints() + order_complaints(row) for row in rows))
    if args.update and not wrong:
        golden.save([*others(args.only, args.golden), *rows], args.golden)
        say(f"\nwrote {args.golden.name}")
        return 0
    if not wrong:
        expected = [row for row in golden.load(args.golden) if args.only in row.configuration]
        wrong = golden.differences(expected, rows)
    say("\n".join(["", *wrong]) if wrong else f"\n{len(rows)} rows, all as in the golden table")
    return 1 if wrong else 0


def others(only: str, path: Path) -> list[Row]:
    """The rows of the table that an update of `only` leaves alone."""
    return [row for row in golden.load(path) if only not in row.configuration] if only else []


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def order_complaints(row: Row) -> list[str]:
    """A combine mode whose kernel lacks the memory order that its handshake is made of."""
    combine = row.configuration.rsplit("-", 1)[-1]
    if row.kernel == "merge_kernel":
        return []
    return [
        f"{row.key}: no {order} in its PTX, so that another CTA may read stale partial results"
        for order in REQUIRED_ORDERS.get(combine, ())
        if not any(order in instruction.split(".") for instruction in row.handshakes)
    ]


def compile_rows(only: str, jobs: int) -> list[Row]:
    """Compile every shipped configuration whose name contains `only`, `jobs` at a time."""
    os.environ.pop("TRITON_INTERPRET", None)  # whatever the shell is set to, a gate compiles
    work = [(only, part, jobs) for part in range(jobs)]
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        parts = pool.map(compile_part, work, timeout=COMPILE_S_MAX)
        return sorted(chain.from_iterable(parts), key=lambda row: row.key)


def compile_part(work: tuple[str, int, int]) -> list[Row]:
    """Every `jobs`-th configuration from `part` on; runs in a process of its own."""
    # Here, since torch and Triton are for the child that compiles only.
    from kernels.compilation import Compiled, compile_launches  # noqa: PLC0415 - see above
    from kernels.configurations import Configuration, shipped  # noqa: PLC0415 - see above

    def row(configuration: Configuration, compiled: Compiled) -> Row:
        need = compiled.need
        name = compiled.architecture.name
        reason = configuration.spill_reasons.get(name, "") if compiled.spill_bytes else ""
        return Row(configuration.name, compiled.kernel, name, need.threads, need.registers,
                   compiled.spill_bytes, need.shared_bytes, need.barriers, need.tensor_columns,
                   compiled.handshakes, reason)  # fmt: skip

    only, part, jobs = work
    chosen = [one for one in shipped() if only in one.name][part::jobs]
    return [
        row(configuration, compiled)
        for configuration in chosen
        for architecture in ARCHITECTURES
        if architecture.name in configuration.architectures
        for compiled in compile_launches(configuration.launch, architecture)
    ]


def table(rows: list[Row]) -> str:
    """The rows for a reader."""
    width = max(len(row.configuration) for row in rows)
    lines = [
        (
            f"{'configuration':{width}s} {'kernel':18s} {'arch':6s} {'thr':>4s} {'regs':>4s} "
            f"{'spill':>5s} {'shared':>7s} {'CTAs/SM':>7s}  resident"
        )
    ]
    for row in rows:
        resident = ", ".join(f"{name} {count}" for name, count in row.resident().items())
        lines.append(
            f"{row.configuration:{width}s} {row.kernel:18s} {row.architecture:6s} "
            f"{row.threads:4d} {row.registers:4d} {row.spill_bytes:5d} {row.shared_bytes:7d} "
            f"{row.ctas:7d}  {resident}"
        )
    reasons = sorted({f"{row.key}: spills, {row.spill_reason}" for row in rows if row.spill_reason})
    return "\n".join(lines + reasons)
