"""A shipped launch made small enough to be proven in seconds, with the same wait graph.

Who waits for whom depends on tiles, splits, which splits have work, the grid and the residency.
All of these are kept. What is made smaller decides only how long a CTA computes before it waits.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernels.shapes import Shape
from kernels.splits import SplitPlan, used_splits

BLOCK_TOKENS = 16  # the smallest that tl.dot takes
PAGE = 16
WIDTHS = {
    "mla_decode": 32,
    "v4_decode": 32,
    "gqa_decode": 16,
}  # the narrowest that the kernels take
ROPE = 16
ROPE_FULL = 64
KEPT = "source, combine mode, tiles, splits, which of them have work, grid, residency, order"


@dataclass(frozen=True, slots=True)
class Scaled:
    """One quantity that was made smaller, and why no wait can tell."""

    name: str
    full: str
    scaled: str
    why: str

    def __str__(self) -> str:
        return f"{self.name} {self.full} -> {self.scaled}: {self.why}"


def context_of(plan: SplitPlan) -> int:
    """The scaled context, in KV rows: one block for each split that has work."""
    return max(used_splits(plan.launch, plan.splits)) * BLOCK_TOKENS


def scaling(shape: Shape, plan: SplitPlan, dtype: str) -> tuple[Scaled, ...]:
    """Every quantity that differs between the full launch and the one that is run."""
    launch, width = plan.launch, WIDTHS[shape.kernel]
    used = max(used_splits(launch, plan.splits))
    rows = [
        Scaled(
            "KV rows" if launch.rows else "context",
            f"{max(launch.lengths)}", f"{context_of(plan)}",
            f"the same {used} of {plan.splits} splits have work, each with one KV block; how many "
            "blocks a split has decides only when it arrives",
        ),
        Scaled(
            "KV block", f"{launch.block_tokens} tokens", f"{BLOCK_TOKENS} tokens",
            "enters the waits through the number of blocks alone",
        ),
        Scaled(
            "head width" if shape.kernel == "gqa_decode" else "latent width",
            f"{shape.width}", f"{width}",
            "values only: every split with work arrives and waits, however few columns it merges",
        ),
        Scaled(
            "KV dtype", dtype, "fp32",
            "values only: no branch and no address depends on a value of the cache",
        ),
    ]  # fmt: skip
    if shape.kernel == "mla_decode":
        rows.append(Scaled("RoPE width", f"{ROPE_FULL}", f"{ROPE}", "values only"))
    if shape.window:
        why = "decides where a row is read from, not how many there are"
        rows.append(Scaled("window", f"{shape.window}", f"{PAGE}", why))
    return tuple(rows)


def runnable(shape: Shape, plan: SplitPlan, layout: str) -> Callable[[], object]:
    """The real launcher on scaled tensors; imports torch and Triton."""
    torch: Any = importlib.import_module("torch")
    merge: Any = importlib.import_module("kernels.split_merge")
    kernel: Any = importlib.import_module(f"kernels.{shape.kernel}")
    launch = merge.SplitLaunch(plan.splits, plan.launch.combine, layout)
    batch, width = len(plan.launch.contexts), WIDTHS[shape.kernel]
    pages = -(-context_of(plan) // PAGE)
    table = torch.arange(pages, dtype=torch.int32).repeat(batch, 1)
    lengths = torch.full((batch,), context_of(plan), dtype=torch.int32)

    def values(*size: int) -> Any:  # noqa: ANN401 - a tensor; torch is not imported for its types
        return torch.full(size, 0.5)

    if shape.kernel == "v4_decode":
        far = context_of(plan) - PAGE  # beyond the window, which is one page here
        chosen = torch.arange(max(1, far), dtype=torch.int32).repeat(batch, 1)
        return lambda: kernel.v4_decode(
            values(batch, shape.heads, width), values(pages, PAGE, width),
            values(max(1, far), width), table, lengths, chosen,
            torch.full((batch,), far, dtype=torch.int32), values(shape.heads), launch,
            softmax_scale=1.0, window=PAGE, block_tokens=BLOCK_TOKENS,
        )  # fmt: skip

    if shape.kernel == "mla_decode":
        return lambda: kernel.mla_decode(
            values(batch, shape.heads, width), values(batch, shape.heads, ROPE),
            values(pages, PAGE, width), values(pages, PAGE, ROPE), table, lengths, launch,
            softmax_scale=1.0, block_tokens=BLOCK_TOKENS,
        )  # fmt: skip
    cache = values(pages, PAGE, shape.tiles_per_request, width)
    return lambda: kernel.gqa_decode(
        values(batch, shape.heads, width), cache, cache, table, lengths, launch,
        block_tokens=BLOCK_TOKENS,
    )  # fmt: skip
