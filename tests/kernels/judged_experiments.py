"""Every launch of judged/*.toml, compiled and judged in one process; see experiments.py.

Runs without the interpreter: the parent's TRITON_INTERPRET is taken back before Triton is imported.
"""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path
from random import Random
from typing import Any

os.environ.pop("TRITON_INTERPRET", None)

from kernels.frontend import compiled_launches
from kernels.residency.answer import Finding, Verdict
from kernels.residency.bounds import within_bounds
from kernels.residency.judge import every_order, given_order, replayed
from kernels.residency.launching import launch_of
from kernels.residency.machine import Undecided
from kernels.unseen import from_table

JUDGED = Path(__file__).with_name("judged")
OWN = {"name", "source", "kernel", "order", "seeds", "truth", "answer", "says"}


def judged(row: dict[str, Any]) -> dict[str, Any]:
    """What is said of a launch, and whether its witness hangs when it is played again."""
    told = {key: value for key, value in row.items() if key not in OWN}
    contents: dict[int, list[float] | float] = {}
    unseen = from_table(JUDGED / row["source"], row["kernel"], row["name"], told)
    try:
        (compiled,) = compiled_launches(unseen.call(contents), contents=contents)
        launch = launch_of(compiled)
        finding, seen = within_bounds(_finding(launch, row), compiled)
        again = None if finding.turns is None else replayed(launch, row["resident"], finding.turns)
    except ValueError as error:
        return {"answer": "refused", "lines": [str(error)]}
    except Undecided as error:
        return {"answer": Verdict.NOT_PROVEN, "lines": [str(error)]}
    return {
        "answer": finding.verdict,
        "lines": [*finding.lines, *compiled.removed, seen],
        "again": again and again.verdict,
    }


def _finding(launch: Any, row: dict[str, Any]) -> Finding:  # noqa: ANN401 - see kernels.prove
    ctas = list(range(launch.ctas))
    if row.get("order") == "reverse":
        return given_order(launch, row["resident"], ctas[::-1], "in reverse")
    if "seeds" not in row:
        return every_order(launch, row["resident"])
    findings: list[Finding] = []
    for seed in range(row["seeds"]):
        order = list(ctas)
        Random(f"{seed}/launch").shuffle(order)
        findings.append(given_order(launch, row["resident"], order, f"in the order of {seed}"))
    dead = [finding for finding in findings if finding.verdict is Verdict.DEADLOCK]
    return (dead or findings)[0]


if __name__ == "__main__":
    for path in sorted(JUDGED.glob("*.toml")):
        for each in tomllib.loads(path.read_text(encoding="utf-8"))["launch"]:
            sys.stdout.write(json.dumps({each["name"]: judged(each)}) + "\n")
            sys.stdout.flush()
