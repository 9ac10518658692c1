"""The split plan: SGLANG_SM120_MMA_TARGET_CTAS to a grid, and whether that grid can deadlock.

Pure arithmetic, without torch or Triton, so that an engine on a CPU can stage the hang that a GPU
would show. A *tile* is what one CTA computes per split: the query heads of one request that share
their keys. A *split* is a run of KV blocks of a tile. R, the residency, is how many CTAs the GPU
holds at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

TARGET_CTAS = "SGLANG_SM120_MMA_TARGET_CTAS"
TARGET_CTAS_MAX = 1 << 20  # far above any grid worth launching; catches a typo of extra digits
COMBINES = ("two_pass", "last_arriver", "owner_spin", "spin_all", "grid_barrier")
WAITING = frozenset({"owner_spin", "spin_all", "grid_barrier"})  # a test holds it to the scan


class Verdict(StrEnum):
    SAFE = "safe"
    DEADLOCK = "deadlock"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Launch:
    """What is to be computed, before anybody decided how to split it."""

    contexts: tuple[int, ...]  # tokens of each request of the batch
    tiles_per_request: int  # KV heads, or groups of query heads that share one latent
    block_tokens: int  # KV tokens that a CTA reads at a time
    combine: str
    heads: int = 0  # query heads, printed only
    rows: tuple[int, ...] = ()  # KV rows that are read, where attention is sparse

    def __post_init__(self) -> None:
        if self.combine not in COMBINES:
            raise ValueError(f"combine: expected one of {', '.join(COMBINES)}, not {self.combine}")
        if not self.contexts or min(self.contexts) < 0:
            raise ValueError(f"contexts: expected one length or more, >= 0, not {self.contexts}")
        if self.rows and len(self.rows) != len(self.contexts):
            raise ValueError(f"rows: expected one count per request, not {len(self.rows)}")
        if self.tiles_per_request < 1 or self.block_tokens < 1:
            raise ValueError("tiles_per_request and block_tokens: expected at least 1")

    @property
    def tiles(self) -> int:
        return len(self.contexts) * self.tiles_per_request

    @property
    def lengths(self) -> tuple[int, ...]:
        """What is split: the KV rows of each request, one per token unless it says otherwise."""
        return self.rows or self.contexts

    @property
    def blocks(self) -> int:
        """KV blocks of the longest request."""
        return max(1, _ceil(max(self.lengths), self.block_tokens))


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """How a launch was split, and what that means on a GPU that holds `residency` CTAs."""

    launch: Launch
    target_ctas: int
    wanted: int  # splits that TARGET_CTAS asks for
    splits: int  # splits that will be launched
    residency: int
    never_start: int  # CTAs that find no free slot, in order and tile-fastest
    verdict: Verdict
    reason: str

    @property
    def grid(self) -> int:
        return self.launch.tiles * self.splits

    @property
    def clamped(self) -> bool:
        return self.splits < self.wanted

    def __str__(self) -> str:
        launch, shortest = self.launch, min(self.launch.contexts)
        context = max(launch.contexts)
        span = f"{context}" if shortest == context else f"{shortest}..{context}"
        span += f" (reads {max(launch.rows)} rows)" if launch.rows else ""
        return (
            f"{launch.combine}: context {span}, batch {len(launch.contexts)}, heads "
            f"{launch.heads or '-'}, {TARGET_CTAS}={self.target_ctas}, splits {self.splits}, grid "
            f"{self.grid}, residency {self.residency}: {self.verdict} ({self.reason})"
        )


def block_tokens_for(head_dim: int) -> int:
    """KV tokens that one step of `gqa_decode`'s loop reads: the tile that the AOT gate knows."""
    return min(64, 2 * head_dim)


def target_ctas(environment: Mapping[str, str], default: int) -> int:
    """The knob's value.

    Raises:
        ValueError: it is neither empty nor a whole number from 1 to TARGET_CTAS_MAX.
    """
    text = environment.get(TARGET_CTAS, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= TARGET_CTAS_MAX:
        raise ValueError(
            f"{TARGET_CTAS}: expected a whole number from 1 to {TARGET_CTAS_MAX}, not {text!r}; "
            "unset it for one CTA per free slot"
        )
    return int(text)


def plan(launch: Launch, target: int, residency: int, *, clamp: bool = True) -> SplitPlan:
    """Split `launch` for about `target` CTAs.

    The quotient is rounded down: rounding up overshoots (188 CTAs over 8 tiles would be 192), and
    a grid that was meant to fit does not. `clamp` holds a kernel whose CTAs wait for each other to
    what can be resident at once; the others may exceed it, which costs them nothing.
    """
    if not 1 <= target <= TARGET_CTAS_MAX:
        raise ValueError(f"target: expected 1 to {TARGET_CTAS_MAX} CTAs, not {target}")
    wanted = splits_wanted(launch, target)
    splits = wanted
    if clamp and launch.combine in WAITING:
        splits = max(1, min(wanted, residency // launch.tiles))
    starved = never_started(launch, splits, residency) if residency > 0 else 0
    drafted = SplitPlan(
        launch, target, wanted, splits, residency, starved, Verdict.SAFE, "not judged yet"
    )
    verdict, reason = _judge(drafted, clamp=clamp)
    return replace(drafted, verdict=verdict, reason=reason)


def splits_wanted(launch: Launch, target: int) -> int:
    """How many splits TARGET_CTAS asks for, before any clamp."""
    return max(1, min(target // launch.tiles, launch.blocks))


def _judge(drafted: SplitPlan, *, clamp: bool) -> tuple[Verdict, str]:
    grid, residency = drafted.grid, drafted.residency
    if residency < 1:
        return Verdict.REFUSED, "no CTA can be resident"
    if drafted.never_start and clamp:
        return (
            Verdict.REFUSED,
            f"one split of each tile is {grid} CTAs, all of them wait, {residency} fit",
        )
    if drafted.never_start:
        return (
            Verdict.DEADLOCK,
            f"{residency} CTAs wait in every slot, {drafted.never_start} never start",
        )
    return Verdict.SAFE, _why_safe(drafted)


def _why_safe(drafted: SplitPlan) -> str:
    grid, residency = drafted.grid, drafted.residency
    if drafted.clamped:
        return f"clamped from {drafted.wanted} splits, since its CTAs wait and {residency} fit"
    if grid <= residency:
        return f"all {grid} CTAs fit"
    if drafted.launch.combine not in WAITING:
        return f"exceeds residency by {grid - residency}, but no CTA waits for another"
    waiting = waiting_max(drafted.launch, drafted.splits)
    if waiting < residency:
        return f"exceeds residency, but at most {waiting} CTAs wait at once, whatever the order"
    return "exceeds residency, yet finishes in order and tile-fastest; another order deadlocks"


def used_splits(launch: Launch, splits: int) -> tuple[int, ...]:
    """For each request, how many of its splits have work; the kernels compute the same."""
    used: list[int] = []
    for length in launch.lengths:
        blocks = _ceil(length, launch.block_tokens)
        per_split = max(1, _ceil(blocks, splits))
        used.append(max(1, _ceil(blocks, per_split)))
    return tuple(used)


def waiting_max(launch: Launch, splits: int) -> int:
    """The most CTAs that can wait while none of them is free to go on, over all launch orders.

    Below R there is always a slot for the next CTA, so that no order deadlocks; from R on, the
    order that launches these first does.
    """
    used = used_splits(launch, splits)
    if launch.combine == "grid_barrier":
        return launch.tiles * splits - 1
    if launch.combine == "spin_all":
        return launch.tiles_per_request * sum(count - 1 for count in used)
    if launch.combine == "owner_spin":
        return launch.tiles_per_request * sum(1 for count in used if count > 1)
    return 0


def never_started(
    launch: Launch, splits: int, residency: int, order: Sequence[int] | None = None
) -> int:
    """How many CTAs of this grid never get a slot; 0: it finishes.

    Exact, whatever the timing: a CTA reaches its wait, or its end, by itself once it is resident,
    so only the order of the launch decides who holds the slots. `order` lists program ids (split
    times tiles plus tile); left out, they start in order.
    """
    if launch.combine not in WAITING or residency >= launch.tiles * splits:
        return 0
    assert residency > 0
    used = used_splits(launch, splits)
    if order is None:
        return _never_started_in_order(
            launch.combine, used, launch.tiles_per_request, splits, residency
        )
    return _starve(launch.combine, used, launch.tiles_per_request, (splits, residency), iter(order))


@lru_cache(maxsize=4096)
def _never_started_in_order(
    combine: str, used: tuple[int, ...], tiles_per_request: int, splits: int, residency: int
) -> int:
    order = iter(range(len(used) * tiles_per_request * splits))
    return _starve(combine, used, tiles_per_request, (splits, residency), order)


def _starve(
    combine: str,
    used: tuple[int, ...],
    tiles_per_request: int,
    sizes: tuple[int, int],
    order: Iterator[int],
) -> int:
    """Give slots to CTAs in `order` until all had one, or until nobody gives one back."""
    splits, residency = sizes
    tiles = len(used) * tiles_per_request
    grid = tiles * splits
    if combine == "grid_barrier":
        return max(0, grid - residency)
    arrived, held, taken = [0] * tiles, [0] * tiles, 0
    for started, program in enumerate(order):
        if taken == residency:
            return grid - started
        tile, split = program % tiles, program // tiles
        need = used[tile // tiles_per_request]
        if split >= need:
            continue  # no work: it ends at once
        arrived[tile] += 1
        if arrived[tile] == need:
            taken -= held[tile]  # the last one to arrive sets its siblings free
            held[tile] = 0
        elif combine == "spin_all" or split == 0:
            taken += 1
            held[tile] += 1
    return 0


def deadlocks(launch: Launch, target: int, residency: int, *, clamp: bool = False) -> bool:
    """Whether this launch hangs on a GPU that holds `residency` CTAs, in order, tile-fastest."""
    return plan(launch, target, residency, clamp=clamp).verdict is Verdict.DEADLOCK


def _ceil(count: int, size: int) -> int:
    return -(-count // size)
