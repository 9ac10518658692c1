"""The shipped decode kernels, scaled down, for every R; each is compiled once. See experiments.py.

Runs without the interpreter: the parent's TRITON_INTERPRET is taken back before Triton is imported.
"""
# pyright: reportMissingTypeStubs=false
#   (because Triton has none)

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from random import Random

os.environ.pop("TRITON_INTERPRET", None)

import torch

from kernels import splits
from kernels.frontend import compiled_launches
from kernels.gqa_decode import gqa_decode
from kernels.residency.judge import Launch, every_order
from kernels.residency.launching import launch_of
from kernels.residency.play import Play, played
from kernels.split_merge import SplitLaunch

BLOCK = 16
HEADS, TILES = 4, 2  # of one request


def gqa(batch: int, splits_: int, combine: str, layout: str, used: int) -> Callable[[], object]:
    """Two KV heads; each split with work has one block."""
    context = used * BLOCK
    cache = torch.zeros(used, BLOCK, TILES, 16)
    table = torch.arange(used, dtype=torch.int32).repeat(batch, 1)
    lengths = torch.full((batch,), context, dtype=torch.int32)
    launch = SplitLaunch(splits_, combine, layout)
    return lambda: gqa_decode(
        torch.zeros(batch, HEADS, 16), cache, cache, table, lengths, launch, block_tokens=BLOCK
    )


def judged(batch: int, count: int, combine: str, layout: str, used: int) -> list[list[object]]:
    """For every R, what is said, and the most CTAs that the plan's arithmetic says can wait."""
    compiled = compiled_launches(gqa(batch, count, combine, layout, used))
    launch = launch_of(compiled[0])
    plan = splits.Launch((used * BLOCK,) * batch, TILES, BLOCK, combine)
    waiting = splits.waiting_max(plan, count)
    return [
        [room, every_order(launch, room).verdict, waiting < room or launch.ctas <= room]
        for room in range(1, launch.ctas + 2)
    ]


def in_many_orders(combine: str) -> list[list[int]]:
    """How many CTAs never start, by a run and by arithmetic, over seeds and R."""
    launch = launch_of(compiled_launches(gqa(1, 8, combine, "tile_fastest", 6))[0])
    plan = splits.Launch((6 * BLOCK,), TILES, BLOCK, combine)
    return [
        [_never_started(launch, room, order), splits.never_started(plan, 8, room, order)]
        for room in (1, 2, 6, 9, 11, 13)
        for seed in range(12)
        for order in [Random(f"{seed}/launch").sample(range(16), 16)]
    ]


def _never_started(launch: Launch, room: int, order: list[int]) -> int:
    play = Play(launch.machine, launch.starts, room)
    played(play, order, launch.budget)
    return len(play.unstarted)


if __name__ == "__main__":
    for mode in splits.COMBINES:
        answers = {
            f"{mode} {order} {requests}x{count}": judged(requests, count, mode, order, work)
            for order in ("tile_fastest", "split_fastest")
            for requests, count, work in ((1, 4, 4), (2, 3, 3))
        }
        sys.stdout.write(json.dumps(answers) + "\n")
    orders = {mode: in_many_orders(mode) for mode in sorted(splits.WAITING)}
    sys.stdout.write(json.dumps({"orders": orders}) + "\n")
