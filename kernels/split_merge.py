"""How split-KV attention is put together again: splits, handshakes, log-sum-exp merge.

Shared by the decode kernels, and the second pass of `two_pass` with its launcher. A decode kernel
gives a CTA one *split* (a run of KV blocks) of one *tile* (the query heads of one request that read
the same KV). Partial outputs [rows, splits, width] and base-2 LSEs [rows, splits] are float32.
The combine modes say who merges them:

    two_pass      a second launch                                      nobody waits
    last_arriver  the CTA that counts the tile full (default)          nobody waits
    owner_spin    split 0 of each tile, which waits for the others     can deadlock
    spin_all      every split waits for its siblings, merges a slice   can deadlock
    grid_barrier  every CTA waits for the whole grid                   can deadlock

The last three exist for the chaos suites only.
"""
# ruff: noqa: ANN001, ANN201, C901, N803, PLR0913, PLR0917, SIM102 - Triton's own conventions:
#   untyped runtime arguments, capitals for compile-time ones, branches that it folds away
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUntypedFunctionDecorator=false
# pyright: reportMissingParameterType=false, reportPossiblyUnboundVariable=false
# pyright: reportArgumentType=false, reportCallIssue=false, reportOperatorIssue=false
# pyright: reportAttributeAccessIssue=false, reportIndexIssue=false
#   (Triton compiles the bodies; a type checker cannot follow it)

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

COMBINES = {"two_pass": 0, "last_arriver": 1, "owner_spin": 2, "spin_all": 3, "grid_barrier": 4}
LAST_ARRIVER = tl.constexpr(COMBINES["last_arriver"])
OWNER_SPIN = tl.constexpr(COMBINES["owner_spin"])
SPIN_ALL = tl.constexpr(COMBINES["spin_all"])
GRID_BARRIER = tl.constexpr(COMBINES["grid_barrier"])
ORDERS = ("tile_fastest", "split_fastest")
BLOCK_MIN = 16  # rows of a tile that `tl.dot` takes
SLICE_COLUMNS = 16  # one slice of `spin_all` and of the second pass
MASKED = tl.constexpr(-1.0e30)  # finite, so that a row with nothing to see gives 0 and not NaN


@triton.jit
def locate(n_tiles, n_splits, SPLIT_FASTEST: tl.constexpr):
    """Which tile and which split this CTA is."""
    program = tl.program_id(0)
    if SPLIT_FASTEST:
        return program // n_splits, program % n_splits
    else:  # noqa: RET505 - Triton compiles one branch only if both are written out
        return program % n_tiles, program // n_tiles


@triton.jit
def blocks_per_split(rows, n_splits, BLOCK_TOKENS: tl.constexpr):
    """How many KV blocks each split of a request takes; at least one."""
    return tl.maximum(tl.cdiv(tl.cdiv(rows, BLOCK_TOKENS), n_splits), 1)


@triton.jit
def used_splits(rows, n_splits, BLOCK_TOKENS: tl.constexpr):
    """How many splits have work. An empty request keeps one, which writes its zeros."""
    per_split = blocks_per_split(rows, n_splits, BLOCK_TOKENS)
    return tl.maximum(tl.cdiv(tl.cdiv(rows, BLOCK_TOKENS), per_split), 1)


@triton.jit
def wait_until(counter, target, POLL_TIMEOUT_NS: tl.constexpr):
    """Spin until the counter reaches the target; False if the poll ran into its timeout."""
    if POLL_TIMEOUT_NS > 0:
        return tl.atomic_poll(counter, target, sem="acquire", scope="gpu",
                              timeout_ns=POLL_TIMEOUT_NS)  # fmt: skip
    else:  # noqa: RET505 - Triton compiles one branch only if both are written out
        while tl.atomic_add(counter, 0, sem="acquire", scope="gpu") < target:
            pass
        return True


@triton.jit
def merge(partials, lses, out, tile, used, n_splits, column,
          HEADS: tl.constexpr, BLOCK_HEADS: tl.constexpr, WIDTH: tl.constexpr,
          COLUMNS: tl.constexpr):  # fmt: skip
    """Log-sum-exp merge of the used splits of a tile, columns [column, column + COLUMNS)."""
    heads = tl.arange(0, BLOCK_HEADS)
    columns = column + tl.arange(0, COLUMNS)
    head_ok = heads < HEADS
    row = tile * HEADS + heads
    peak = tl.full([BLOCK_HEADS], MASKED, tl.float32)
    total = tl.zeros([BLOCK_HEADS], tl.float32)
    merged = tl.zeros([BLOCK_HEADS, COLUMNS], tl.float32)
    for split in range(used):
        at = (row * n_splits + split).to(tl.int64)
        lse = tl.load(lses + at, mask=head_ok, other=MASKED)
        part = tl.load(partials + at[:, None] * WIDTH + columns[None, :], mask=head_ok[:, None],
                       other=0.0)  # fmt: skip
        new_peak = tl.maximum(peak, lse)
        kept = tl.exp2(peak - new_peak)
        weight = tl.exp2(lse - new_peak)
        merged = merged * kept[:, None] + part * weight[:, None]
        total = total * kept + weight
        peak = new_peak
    merged = merged / total[:, None]
    tl.store(out + row[:, None] * WIDTH + columns[None, :], merged.to(out.dtype.element_ty),
             mask=head_ok[:, None])  # fmt: skip


@triton.jit
def combine(partials, lses, out, counters, rows, tile, split, n_splits, tiles_per_request,
            HEADS: tl.constexpr, BLOCK_HEADS: tl.constexpr, WIDTH: tl.constexpr,
            BLOCK_TOKENS: tl.constexpr, COMBINE: tl.constexpr, COLUMNS: tl.constexpr,
            POLL_TIMEOUT_NS: tl.constexpr):  # fmt: skip
    """What a CTA does after its partial result is stored; `split` is one that has work."""
    used = used_splits(tl.load(rows + tile // tiles_per_request), n_splits, BLOCK_TOKENS)
    if COMBINE == LAST_ARRIVER:
        if tl.atomic_add(counters + tile, 1, sem="acq_rel", scope="gpu") == used - 1:
            merge(partials, lses, out, tile, used, n_splits, 0, HEADS, BLOCK_HEADS, WIDTH, WIDTH)
    if COMBINE == OWNER_SPIN:
        if split > 0:
            tl.atomic_add(counters + tile, 1, sem="release", scope="gpu")
        elif wait_until(counters + tile, used - 1, POLL_TIMEOUT_NS):
            merge(partials, lses, out, tile, used, n_splits, 0, HEADS, BLOCK_HEADS, WIDTH, WIDTH)
    if COMBINE == SPIN_ALL:
        tl.atomic_add(counters + tile, 1, sem="release", scope="gpu")
        # Each split waits for all of its siblings and then merges its own slices of columns.
        if wait_until(counters + tile, used, POLL_TIMEOUT_NS):
            for column in range(split * COLUMNS, WIDTH, used * COLUMNS):
                merge(partials, lses, out, tile, used, n_splits, column, HEADS, BLOCK_HEADS, WIDTH,
                      COLUMNS)  # fmt: skip


@triton.jit
def combine_behind_barrier(partials, lses, out, counters, rows, n_tiles, n_splits,
                           tiles_per_request, HEADS: tl.constexpr, BLOCK_HEADS: tl.constexpr,
                           WIDTH: tl.constexpr, BLOCK_TOKENS: tl.constexpr,
                           POLL_TIMEOUT_NS: tl.constexpr):  # fmt: skip
    """Wait for the whole grid; then CTA i merges tile i. Empty splits wait as well."""
    tl.atomic_add(counters, 1, sem="release", scope="gpu")
    tile = tl.program_id(0)
    if wait_until(counters, n_tiles * n_splits, POLL_TIMEOUT_NS):
        if tile < n_tiles:
            used = used_splits(tl.load(rows + tile // tiles_per_request), n_splits, BLOCK_TOKENS)
            merge(partials, lses, out, tile, used, n_splits, 0, HEADS, BLOCK_HEADS, WIDTH, WIDTH)


@triton.jit(do_not_specialize=["n_splits", "tiles_per_request"])
def merge_kernel(partials, lses, out, rows, n_splits, tiles_per_request,
                 HEADS: tl.constexpr, BLOCK_HEADS: tl.constexpr, WIDTH: tl.constexpr,
                 BLOCK_TOKENS: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
    """The second pass of `two_pass`: one CTA per tile and slice of columns."""
    tile = tl.program_id(0)
    used = used_splits(tl.load(rows + tile // tiles_per_request), n_splits, BLOCK_TOKENS)
    merge(partials, lses, out, tile, used, n_splits, tl.program_id(1) * COLUMNS, HEADS, BLOCK_HEADS,
          WIDTH, COLUMNS)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SplitLaunch:
    """How a decode kernel is launched: everything that is not a tensor and not a shape."""

    splits: int
    combine: str = "last_arriver"
    order: str = "tile_fastest"
    poll_timeout_ns: int = 0  # > 0 bounds the waits of the waiting modes by the GPU's clock

    def __post_init__(self) -> None:
        """ValueError that says what is supported."""
        if self.splits < 1:
            raise ValueError(f"splits must be at least 1, got {self.splits}")
        if self.combine not in COMBINES:
            raise ValueError(f"combine {self.combine!r}: choose one of {', '.join(COMBINES)}")
        if self.order not in ORDERS:
            raise ValueError(f"order {self.order!r}: choose one of {', '.join(ORDERS)}")
        if self.poll_timeout_ns < 0:
            raise ValueError(f"poll_timeout_ns must not be negative, got {self.poll_timeout_ns}")


@dataclass(frozen=True, slots=True)
class Partials:
    """Scratch of one launch: partial outputs, LSEs, and one zeroed counter per tile."""

    outputs: torch.Tensor
    lses: torch.Tensor
    counters: torch.Tensor

    @classmethod
    def allocate(cls, rows: int, width: int, tiles: int, launch: SplitLaunch,
                 device: torch.device) -> "Partials":  # fmt: skip
        """Scratch for `rows` query rows of `width` columns in `tiles` tiles."""
        return cls(
            torch.empty((rows, launch.splits, width), dtype=torch.float32, device=device),
            torch.empty((rows, launch.splits), dtype=torch.float32, device=device),
            torch.zeros(tiles, dtype=torch.int32, device=device),
        )


def require_launchable(**tensors: torch.Tensor | None) -> None:
    """ValueError unless all are contiguous, 16-byte aligned and on one device."""
    given = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    devices = {name: str(tensor.device) for name, tensor in given.items()}
    if len(set(devices.values())) > 1:
        raise ValueError(f"all tensors must be on one device, got {devices}")
    for name, tensor in given.items():
        if not tensor.is_contiguous():
            raise ValueError(f"{name} must be contiguous, got strides {tensor.stride()}")
        if tensor.data_ptr() % 16:
            raise ValueError(f"{name} must start at a multiple of 16 bytes")


def require_out(query: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    """`out`, or a new one. ValueError unless the result fits into it."""
    out = torch.empty_like(query) if out is None else out
    if out.shape != query.shape or out.dtype != query.dtype:
        expected, came = tuple(query.shape), tuple(out.shape)
        raise ValueError(f"out: expected {expected} {query.dtype}, got {came} {out.dtype}")
    return out


def require_block(name: str, block: int) -> None:
    """ValueError unless a tile of `tl.dot` can have this many rows."""
    if block < BLOCK_MIN or block & (block - 1):
        raise ValueError(f"{name}: expected a power of two, at least {BLOCK_MIN}, got {block}")


def second_pass(partials: Partials, out: torch.Tensor, rows: torch.Tensor, tile_heads: int,
                block_tokens: int) -> None:  # fmt: skip
    """Merge what a `two_pass` launch left: out [rows, width], rows [requests] are KV counts."""
    tiles = partials.counters.numel()
    width = out.shape[-1]
    merge_kernel[tiles, width // SLICE_COLUMNS](
        partials.outputs, partials.lses, out, rows, partials.lses.shape[1],
        tiles // rows.numel(), HEADS=tile_heads,
        BLOCK_HEADS=max(16, triton.next_power_of_2(tile_heads)), WIDTH=width,
        BLOCK_TOKENS=block_tokens, COLUMNS=SLICE_COLUMNS)  # fmt: skip
