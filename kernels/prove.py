"""`prove`: does this launch deadlock on that GPU? Answered on a CPU, from the kernel and the plan.

Three steps, cheapest first: a grid that fits into R has no residency deadlock; nor has a kernel in
which the static scan finds no wait; what is left is run, scheduled, and ends or is proven never to.
Exit 0 safe, 1 deadlock, 2 bad usage, 3 not proven.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from kernels import scaled_launch, shapes, splits
from kernels.case import Asked, Case, shipped, unseen_case
from kernels.device import GPUS
from kernels.scan_process import ScanProcess

SAFE, DEADLOCK, NOT_PROVEN = 0, 1, 3
WORDS = {SAFE: "SAFE", DEADLOCK: "DEADLOCK, proven", NOT_PROVEN: "NOT PROVEN"}
MAX_WITHIN_S = 1e6
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
    parser.add_argument("--order", choices=ORDERS, default=ORDERS[0], help="of the launch")
    parser.add_argument("--seed", type=int, default=0, help="of a seeded order")
    parser.add_argument("--seeds", type=int, help="run this many seeded orders, from --seed on")
    parser.add_argument(
        "--run", dest="execute", action="store_true", help="execute even what needs no run"
    )
    parser.add_argument("--source", help="FILE:KERNEL, a kernel never seen before")
    parser.add_argument("--launch", help="its launch file (see kernels/unseen.py)")
    parser.add_argument("--within-s", type=float, default=120.0, help="give up after this long")


def main(args: argparse.Namespace) -> int:
    """Judge one launch. ValueError for what is not supported."""
    if not 0 < args.within_s < MAX_WITHIN_S or (args.seeds is not None and args.seeds < 1):
        raise ValueError(
            f"--within-s and --seeds: expected more than 0, and less than {MAX_WITHIN_S:g} seconds"
        )
    os.environ["TRITON_INTERPRET"] = "1"  # before anything imports Triton
    case = _case(args)
    _say(case.title)
    if case.residency < 1:
        return _verdict(NOT_PROVEN, "refused: not one CTA of it can be resident")
    if case.fits:
        _say(f"all {case.grid} CTAs fit into R = {case.residency}: none waits for a free slot")
        if not args.execute:
            return _verdict(SAFE, "no residency deadlock")
    return _examine(case, args)


def _case(args: argparse.Namespace) -> Case:
    if args.source:
        return unseen_case(args.source, args.launch, args.gpu, args.reserved_sms)
    if args.kernel is None or args.gpu is None:
        raise ValueError(
            f"--gpu (one of {', '.join(GPUS)}) and --kernel (one of {', '.join(shapes.SHAPES)}) "
            "are needed, or --source and --launch"
        )
    fields = Asked.__dataclass_fields__
    told: dict[str, Any] = {name: getattr(args, name) for name in fields}
    told["target_ctas"] = args.target_ctas or ""
    return shipped(Asked(**told))


def _examine(case: Case, args: argparse.Namespace) -> int:
    began = time.monotonic()
    with ScanProcess(case.scan, args.within_s) as scan:
        _alarm(args.within_s, scan)
        launch = case.prepare()  # imports Triton here while the scan does so there
        waits = case.expected_to_wait or _scanned(scan)
        if not waits and not args.execute:
            _say(f"its grid exceeds R by {case.grid - case.residency}, which costs it nothing")
            return _verdict(SAFE, "no CTA waits for another: no residency deadlock")
        if case.scaling:
            _say(f"scaled launch; kept: {scaled_launch.KEPT}")
        for row in case.scaling:
            _say(f"  {row}")
        code = _try(case, launch, args, waits=waits)
        if case.expected_to_wait:  # the scan went on beside the run
            _scanned(scan)
    signal.setitimer(signal.ITIMER_REAL, 0)
    _say(f"decided in {time.monotonic() - began:.1f} s")
    return code


def _scanned(scan: ScanProcess) -> bool:
    """Say what the scan found; whether a CTA may wait for another."""
    found = scan.result()
    if isinstance(found, str):
        _say(f"static scan: failed, so that a wait is assumed ({found})")
        return True
    for each in found:
        places = "; ".join(str(wait) for wait in each.waits) or "no CTA waits for another"
        _say(f"static scan of {each.kernel}: {places}")
    return any(each.waits for each in found)


def _try(case: Case, launch: Callable[[], object], args: argparse.Namespace, *, waits: bool) -> int:
    from kernels import trial  # noqa: PLC0415 - imports Triton, which had to be told to interpret
    from kernels.residency import Ending, Rules  # noqa: PLC0415 - likewise

    order = "seeded" if args.seeds else args.order
    orders = [
        Rules(case.residency, order, seed, within_s=args.within_s)
        for seed in range(args.seed, args.seed + (args.seeds or 1))
    ]
    trials = trial.every(launch, orders)
    endings = [each.ending for each in trials]
    dead = endings.count(Ending.DEADLOCK)
    told = trials[endings.index(Ending.DEADLOCK)] if dead else trials[0]
    _say(told.told)
    for rules, each in zip(orders, trials, strict=True):
        if differs := trial.disagreement(case, rules, each):
            return _verdict(NOT_PROVEN, f"{differs}: one of them is wrong, please report it")
    if dead:
        return _verdict(DEADLOCK, f"{_of(dead, orders)} cannot end")
    finished = endings.count(Ending.FINISHED)
    if finished < len(trials):
        late = len(trials) - finished
        return _verdict(NOT_PROVEN, f"{_of(late, orders)} did not end within the budget")
    if case.fits or not waits:
        why = "all CTAs fit" if case.fits else "no CTA waits for another"
        return _verdict(SAFE, f"{why}, and {_of(finished, orders)} finished")
    if case.order_free:
        return _verdict(SAFE, f"{_of(finished, orders)} finished, and no order can deadlock")
    return _verdict(SAFE, f"{_of(finished, orders)} finished; other orders can differ")


def _of(some: int, orders: list[Any]) -> str:
    return f"{some} of {len(orders)} launch orders" if len(orders) > 1 else "this launch order"


def _alarm(within_s: float, scan: ScanProcess) -> None:
    """A kernel that never gives way cannot be stopped by its scheduler; this can."""

    def expired(_number: int, _frame: FrameType | None) -> None:
        scan.kill()
        _verdict(NOT_PROVEN, f"it did not even give way within {within_s:g} s")
        os._exit(NOT_PROVEN)

    signal.signal(signal.SIGALRM, expired)
    # Twice: the scheduler's own bound, which reports more, is to come first.
    signal.setitimer(signal.ITIMER_REAL, 2 * within_s)


def _verdict(code: int, why: str) -> int:
    _say(f"{WORDS[code]}: {why}")
    return code


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
