"""`ci/bench [ROW ...]`: measures the design's budgets and prints the table."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from chaos.pytest_plugin import DRIVERS
from ci.benches.catalogue import ROWS, Row, named
from ci.benches.effort import Effort
from ci.benches.machine import described
from ci.benches.measuring import Measured, left_out, measured
from ci.benches.table import HEAD, is_good, json_of, lines

INTERRUPTED: Final = 130  # as a shell has it
FAULT_FREE: Final = 100
QUICK_FAULT_FREE: Final = 10
QUICK_S: Final = 160.0  # with the unwinding of the last row below three minutes
BEGIN_S: Final = 5.0  # with less than this left a row is not begun


def main(words: Sequence[str]) -> int:
    chosen = _parser().parse_args(words)
    try:
        rows = named(chosen.rows)
    except ValueError as wrong:
        print(f"ci/bench: {wrong}", file=sys.stderr)
        return 2
    count = chosen.fault_free or (QUICK_FAULT_FREE if chosen.quick else FAULT_FREE)
    effort = Effort(chosen.quick, count, chosen.stack)
    machine = described()
    print(f"{machine}{', --quick' if effort.quick else ''}\n{HEAD}", flush=True)
    done: list[Measured] = []
    try:
        for one in _measured(rows, effort):
            done.append(one)
            print("\n".join(lines(one)), flush=True)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        if chosen.json is not None:
            chosen.json.write_text(json.dumps(json_of(done, machine), indent=1))
    asked = [one for one in done if not effort.quick or _row(one.row).quick_bound_s]
    return 0 if is_good(asked) else 1


def _measured(rows: Sequence[Row], effort: Effort) -> Iterator[Measured]:
    over_s = time.monotonic() + QUICK_S
    for row in rows:
        left_s = over_s - time.monotonic()
        if not effort.quick:
            yield measured(row, effort, row.bound_s)
        elif not row.quick_bound_s:
            yield left_out(row, "too long for --quick")
        elif left_s < BEGIN_S:
            yield left_out(row, f"the {QUICK_S:.0f} s of --quick were over")
        else:
            yield measured(row, effort, min(row.quick_bound_s, left_s))


def _row(name: str) -> Row:
    return next(row for row in ROWS if row.name == name)


def _parser() -> argparse.ArgumentParser:
    names = " ".join(row.name for row in ROWS)
    parser = argparse.ArgumentParser(prog="ci/bench", description=__doc__, epilog=f"rows: {names}")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="which; without any, all of them")
    parser.add_argument("--quick", action="store_true", help="less of each, below three minutes")
    parser.add_argument("--json", type=_file, metavar="FILE", help="write every value there too")
    usual = f"fault-free experiments ({FAULT_FREE}; {QUICK_FAULT_FREE} with --quick)"
    parser.add_argument("--fault-free", type=_count, metavar="N", help=usual)
    parser.add_argument(
        "--stack", choices=DRIVERS, default="embedded", help="what row fault_free is played on"
    )
    return parser


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, came {text}")
    return count


def _file(text: str) -> Path:
    path = Path(text)
    if not path.resolve().parent.is_dir():
        raise argparse.ArgumentTypeError(f"no such folder: {path.resolve().parent}")
    return path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
