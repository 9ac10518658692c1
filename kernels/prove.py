"""`prove`: does this launch deadlock on that GPU? Answered on a CPU, from the compiled kernel.

The kernel goes through Triton's front end, in a process of its own; what its IR does is explored
for every launch order and every schedule (see kernels/residency). Exit codes: 0 SAFE; 1 DEADLOCK,
with a witness that `--play` plays again; 2 bad usage, or a launch that cannot be; 3 NOT PROVEN, or
FINISHED IN ONE ORDER where --order or --seeds asked for one; 70 an error of ours.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from random import Random
from typing import Any

from kernels import shapes, splits
from kernels.case import Asked, Case, shipped, unseen_case
from kernels.compile_process import Died, compile_in_child
from kernels.compiled_launch import CompiledLaunch
from kernels.device import GPUS
from kernels.residency.answer import MODEL, Finding, Verdict
from kernels.residency.bounds import within_bounds
from kernels.residency.judge import Launch, every_order, given_order, replayed
from kernels.residency.launching import launch_of
from kernels.residency.machine import Undecided
from kernels.residency.play import read_turns

MAX_WITHIN_S = 1e6
CTAS_MAX = 200_000  # more are not explored
LAYOUTS = ("tile_fastest", "split_fastest")
ORDERS = ("in-order", "reverse", "seeded")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gpu", help=f"one of {', '.join(GPUS)}")
    parser.add_argument("--kernel", help=f"one of {', '.join(shapes.SHAPES)}")
    parser.add_argument("--combine", default="last_arriver", help=", ".join(splits.COMBINES))
    parser.add_argument("--dtype", default="bf16", help=f"KV cache: {', '.join(shapes.DTYPES)}")
    parser.add_argument("--target-ctas", help=f"{splits.TARGET_CTAS}; default: one per free slot")
    parser.add_argument("--context", type=int, default=131072, help="tokens of each request")
    parser.add_argument("--batch", type=int, default=1, help="requests")
    parser.add_argument("--clamp", action="store_true", help="hold waiting kernels to R, as ours")
    parser.add_argument("--layout", choices=LAYOUTS, default=LAYOUTS[0])
    parser.add_argument("--reserved-sms", type=int, default=0, help="held by something else")
    parser.add_argument("--order", choices=ORDERS, help="look at this launch order only")
    parser.add_argument("--seed", type=int, default=0, help="of a seeded order")
    parser.add_argument("--seeds", type=int, help="look at so many seeded orders only")
    parser.add_argument("--source", help="FILE:KERNEL, a kernel never seen before")
    parser.add_argument("--launch", help="its launch file (see kernels/unseen.py)")
    parser.add_argument("--play", help="play a witness again: the turns that a DEADLOCK printed")
    parser.add_argument("--within-s", type=float, default=120.0, help="give up after this long")


def main(args: argparse.Namespace) -> int:
    """Judge one launch. ValueError for what is not supported."""
    if not 0 < args.within_s < MAX_WITHIN_S or (args.seeds is not None and args.seeds < 1):
        raise ValueError(
            f"--within-s and --seeds: expected more than 0, and less than {MAX_WITHIN_S:g} seconds"
        )
    case = _case(args)
    _say(case.title)
    if case.residency.most < 1:
        return _told([Finding(Verdict.NOT_PROVEN, "refused: no CTA of it can be resident")])
    began = time.monotonic()
    try:
        launches = compile_in_child(case.compile, args.within_s)
    except Died as died:
        return _told([Finding(Verdict.NOT_PROVEN, f"the launch could not be compiled: {died}")])
    findings = [_examined(case, each, args, began + args.within_s) for each in launches]
    _say(f"decided in {time.monotonic() - began:.1f} s")
    _say(f"{MODEL}. {case.residency.why}")
    return _told(findings)


def _case(args: argparse.Namespace) -> Case:
    if args.source:
        return unseen_case(args.source, args.launch, args.gpu, args.reserved_sms)
    if args.kernel is None or args.gpu is None:
        raise ValueError(
            f"--gpu (one of {', '.join(GPUS)}) and --kernel (one of {', '.join(shapes.SHAPES)}) "
            "are needed, or --source and --launch"
        )
    told: dict[str, Any] = {name: getattr(args, name) for name in Asked.__dataclass_fields__}
    told["target_ctas"] = args.target_ctas or ""
    return shipped(Asked(**told))


def _told(findings: list[Finding]) -> int:
    """Print the finding that decides, the worst first: a deadlock, what is not proven, the rest."""
    severity = [Verdict.DEADLOCK, Verdict.NOT_PROVEN, Verdict.ONE_ORDER, Verdict.SAFE]
    worst = min(findings, key=lambda finding: severity.index(finding.verdict))
    for line in worst.lines:
        _say(line)
    return worst.verdict.exit_code


def _examined(
    case: Case, compiled: CompiledLaunch, args: argparse.Namespace, until: float
) -> Finding:
    for wait in compiled.removed:
        _say(f"{compiled.kernel}: the source has a {wait}; the compiled kernel has none there")
    places = "; ".join(str(wait) for wait in compiled.waits) or "no loop that can wait"
    _say(f"{compiled.kernel}, {compiled.ctas} CTAs, compiled: {places}")
    if compiled.ctas > CTAS_MAX:
        return Finding(Verdict.NOT_PROVEN, f"{compiled.ctas} CTAs: at most {CTAS_MAX} are explored")
    try:
        launch = launch_of(compiled, until)
        if args.play is not None:
            return replayed(launch, case.residency.most, read_turns(args.play))
        ordered = args.order or args.seeds
        finding = _in_orders(launch, case, args) if ordered else _at_both_ends(launch, case)
    except Undecided as undecided:
        return Finding(Verdict.NOT_PROVEN, f"{compiled.kernel}: {undecided}")
    if case.plan is not None:
        return finding  # our own launchers refuse indices that lead out of a tensor
    finding, seen = within_bounds(finding, compiled, until)
    if seen:
        _say(f"{compiled.kernel}: {seen}")
    return finding


def _at_both_ends(launch: Launch, case: Case) -> Finding:
    """SAFE is what holds for the whole range of R; a deadlock at its upper end is one anyhow."""
    most = every_order(launch, case.residency.most)
    if case.residency.least == case.residency.most or most.verdict is not Verdict.SAFE:
        return most
    for room in range(max(1, case.residency.least), case.residency.most):
        if launch.ctas <= room:
            break
        least = every_order(launch, room)
        if least.verdict is not Verdict.SAFE:
            return Finding(
                Verdict.NOT_PROVEN,
                f"safe with R = {case.residency.most}, but R may be as low as "
                f"{case.residency.least}, and with R = {room}: {least.verdict}, {least.why}",
                least.turns, least.stuck,
            )  # fmt: skip
    return Finding(most.verdict, f"{most.why}; this holds from R = {case.residency.least} on")


def _in_orders(launch: Launch, case: Case, args: argparse.Namespace) -> Finding:
    findings = [
        given_order(launch, case.residency.most, order, name)
        for name, order in _orders(launch.ctas, args)
    ]
    for verdict in (Verdict.DEADLOCK, Verdict.NOT_PROVEN):
        for finding in findings:
            if finding.verdict is verdict:
                return finding
    everywhere = _at_both_ends(launch, case)
    if everywhere.verdict is Verdict.SAFE:
        return everywhere  # more than was asked for
    if len(findings) == 1:
        return findings[0]
    return Finding(findings[0].verdict, f"{len(findings)} launch orders; {findings[-1].why}")


def _orders(ctas: int, args: argparse.Namespace) -> Iterator[tuple[str, list[int]]]:
    if args.order == "in-order":
        yield "in order", list(range(ctas))
    elif args.order == "reverse":
        yield "in reverse", list(range(ctas))[::-1]
    else:
        for seed in range(args.seed, args.seed + (args.seeds or 1)):
            order = list(range(ctas))
            Random(f"{seed}/launch").shuffle(order)
            yield f"in the order of seed {seed}", order


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
