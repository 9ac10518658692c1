"""The shipped decode kernels under the residency scheduler; see experiments.py."""
# pyright: reportMissingTypeStubs=false
#   (because Triton has none)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from experiments import experiment, main, tried
from torch import Tensor

from kernels import splits
from kernels.gqa_decode import gqa_decode
from kernels.mla_decode import mla_decode
from kernels.residency import Rules
from kernels.residency.scheduler import launch_order
from kernels.split_merge import SplitLaunch

BLOCK = 16


def gqa(
    batch: int, splits_: int, combine: str, layout: str = "tile_fastest", used: int = 0
) -> Callable[[], Tensor]:
    """Two KV heads; each split with work has one block."""
    context = (used or splits_) * BLOCK
    seeded = torch.Generator().manual_seed(0)
    query = torch.randn(batch, 4, 16, generator=seeded)
    cache = torch.randn(context // BLOCK, BLOCK, 2, 16, generator=seeded)
    table = torch.arange(context // BLOCK, dtype=torch.int32).repeat(batch, 1)
    lengths = torch.full((batch,), context, dtype=torch.int32)
    launch = SplitLaunch(splits_, combine, layout)
    return lambda: gqa_decode(query, cache, cache, table, lengths, launch, block_tokens=BLOCK)


@experiment
def owner_spin_with_512_ctas() -> object:
    table = torch.arange(64, dtype=torch.int32)[None]
    lengths = torch.tensor([64 * BLOCK], dtype=torch.int32)

    def launch() -> Tensor:
        return mla_decode(
            torch.ones(1, 128, 32), torch.ones(1, 128, 16), torch.ones(64, BLOCK, 32),
            torch.ones(64, BLOCK, 16), table, lengths, SplitLaunch(64, "owner_spin"),
            softmax_scale=1.0, block_tokens=BLOCK,
        )  # fmt: skip

    return {"ending": tried(launch, Rules(188))["ending"]}


@experiment
def owner_spin_with_8_tiles() -> object:
    layouts = ("tile_fastest", "split_fastest")
    return {
        layout: tried(gqa(4, 2, "owner_spin", layout), Rules(8))["ending"] for layout in layouts
    }


def agreed(rules: Rules) -> tuple[str, bool]:
    """What spin_all over 2 tiles and grid 16 came to, and whether the arithmetic says the same."""
    found = tried(SPIN_ALL, rules)
    order = [x for x, _, _ in launch_order(rules, (16, 1, 1))]
    launch = splits.Launch((8 * BLOCK,), 2, BLOCK, "spin_all")
    expected = splits.never_started(launch, 8, rules.resident_max, order)
    return found["ending"], expected == found["never"]


SPIN_ALL = gqa(1, 8, "spin_all")


@experiment
def spin_all_in_many_orders() -> object:
    return [agreed(Rules(14, order="seeded", seed=seed)) for seed in range(50)]


@experiment
def spin_all_around_8() -> object:
    return {
        resident: [agreed(Rules(resident, order="seeded", seed=seed)) for seed in range(3)]
        for resident in (7, 8, 9, 15, 16)
    }


@experiment
def grid_barriers() -> object:
    orders = [("in-order", 0), ("reverse", 0), ("seeded", 1)]
    return {
        resident: [
            tried(gqa(1, 4, "grid_barrier", layout), Rules(resident, order=order, seed=seed))[
                "ending"
            ]
            for layout in ("tile_fastest", "split_fastest")
            for order, seed in orders
        ]
        for resident in (7, 8)
    }


@experiment
def short_contexts() -> object:
    """Six of eight splits have work: 12 CTAs arrive and wait, 4 end at once."""
    return {
        resident: tried(gqa(1, 8, "spin_all", used=6), Rules(resident))["ending"]
        for resident in (10, 11)
    }


@experiment
def modes_that_do_not_wait() -> object:
    expected = gqa(2, 4, "last_arriver")()
    found: dict[str, list[Any]] = {}
    for combine in ("two_pass", "last_arriver"):
        for resident in (1, 3):
            rules = Rules(resident, order="seeded", seed=resident, shuffled_turns=True)
            answer = tried(gqa(2, 4, combine), rules)
            same = answer["ending"] == "finished" and torch.allclose(
                torch.tensor(answer["out"]), expected.flatten(), atol=1e-6
            )
            found.setdefault(combine, []).append([answer["ending"], same])
    return found


if __name__ == "__main__":
    main()
