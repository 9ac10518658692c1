"""How an experiment is run and answers: one line of JSON each, from a process that has torch.

The parent sets TRITON_INTERPRET=1 and names the experiments as arguments; none: all.
"""
# pyright: reportMissingTypeStubs=false
#   (because Triton has none)

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from kernels.residency import Deadlock, NotProven, Rules, scheduled

WITHIN_S = 250.0  # no experiment is about the wall clock
Answer = dict[str, Any]
EXPERIMENTS: dict[str, Callable[[], object]] = {}


def experiment(run: Callable[[], object]) -> Callable[[], object]:
    EXPERIMENTS[run.__name__] = run
    return run


def tried(launch: Callable[[], torch.Tensor], rules: Rules) -> Answer:
    """What a scheduled launch came to; of a finished one its values."""
    try:
        with scheduled(replace(rules, within_s=WITHIN_S)):
            out = launch()
    except (Deadlock, NotProven) as stopped:
        run = stopped.run
        stuck = [
            {"where": s.where, "source": s.source, "counter": s.counter, "value": s.value,
             "target": s.target} for s in run.stuck
        ]  # fmt: skip
        return {"ending": run.ending, "stuck": stuck, "never": run.never_started, "text": str(run)}
    return {"ending": "finished", "out": [float(value) for value in out.flatten()], "never": 0}


def main() -> None:
    for name in sys.argv[1:] or EXPERIMENTS:
        sys.stdout.write(json.dumps({name: EXPERIMENTS[name]()}) + "\n")
        sys.stdout.flush()
