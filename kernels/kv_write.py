"""Writes new key or value rows into their slots of a paged cache: the kernel and its launcher.

An e4m3 cache gets one float32 scale per token and head, chosen so that the row's largest value
becomes 448, the largest that e4m3 has.
"""
# ruff: noqa: ANN001, ANN201, N803, PLR0913, PLR0917, PLR2004 - Triton's own conventions: untyped runtime
#   arguments, capitals for compile-time ones, as many of both as there are; shapes have ranks
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUntypedFunctionDecorator=false
# pyright: reportMissingParameterType=false, reportPossiblyUnboundVariable=false
# pyright: reportArgumentType=false, reportCallIssue=false, reportOperatorIssue=false
# pyright: reportAttributeAccessIssue=false, reportIndexIssue=false
#   (Triton compiles the bodies; a type checker cannot follow it)

import torch
import triton
import triton.language as tl

from kernels.debug import require_below

DTYPES = (torch.bfloat16, torch.float32)
E4M3 = torch.float8_e4m3fn
DIM_MAX = 1024
E4M3_MAX = tl.constexpr(448.0)
SMALLEST_SCALE = tl.constexpr(1.0e-12)  # a row of zeros is divided by something


@triton.jit
def kv_write_kernel(rows, cache, scales, slots, heads, dim, page_stride, PAGE: tl.constexpr,
                    BLOCK_HEADS: tl.constexpr, BLOCK_DIM: tl.constexpr,
                    QUANTISED: tl.constexpr):  # fmt: skip
    """All heads of one token per CTA; a negative slot is padding and is left out."""
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + token).to(tl.int64)
    head = tl.arange(0, BLOCK_HEADS)
    column = tl.arange(0, BLOCK_DIM)
    valid = (head < heads)[:, None] & (column < dim)[None, :]
    inside = (head * dim)[:, None] + column[None, :]
    if slot >= 0:
        row = tl.load(rows + token * heads * dim + inside, mask=valid, other=0.0)
        if QUANTISED:
            row = row.to(tl.float32)
            scale = tl.maximum(tl.max(tl.abs(row), 1) / E4M3_MAX, SMALLEST_SCALE)
            tl.store(scales + slot * heads + head, scale, mask=head < heads)
            row = tl.div_rn(row, tl.broadcast_to(scale[:, None], row.shape))
        start = (slot // PAGE) * page_stride + (slot % PAGE) * (heads * dim)
        tl.store(cache + start + inside, row.to(cache.dtype.element_ty), mask=valid)


def kv_write(rows: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor,
             scales: torch.Tensor | None = None) -> None:  # fmt: skip
    """rows [tokens, heads, dim] into cache [pages, page, heads, dim] at slots [tokens] int32.

    Pages may lie apart. A slot is page * page_size + offset; a negative one is skipped. scales
    [pages, page, heads] float32 exactly when the cache is e4m3. ValueError otherwise.
    """
    tokens, heads, dim = rows.shape
    if cache.ndim != 4 or cache.shape[2:] != (heads, dim):
        raise ValueError(f"cache must be [pages, page, {heads}, {dim}], got {tuple(cache.shape)}")
    if dim > DIM_MAX:
        raise ValueError(f"dim {dim} is not supported: at most {DIM_MAX}")
    if rows.dtype not in DTYPES or cache.dtype not in (rows.dtype, E4M3):
        raise ValueError(f"dtypes {rows.dtype} into {cache.dtype}: {DTYPES} into itself or e4m3")
    require_places(rows, cache, slots, scales)
    require_below("slots", slots, cache.shape[0] * cache.shape[1], "slots of the cache")
    if tokens:
        kv_write_kernel[(tokens,)](rows, cache, scales, slots, heads, dim, cache.stride(0),
                                   PAGE=cache.shape[1], BLOCK_HEADS=triton.next_power_of_2(heads),
                                   BLOCK_DIM=triton.next_power_of_2(dim),
                                   QUANTISED=scales is not None, num_warps=4)  # fmt: skip


def require_places(rows: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor,
                   scales: torch.Tensor | None) -> None:  # fmt: skip
    """ValueError unless there is a slot for each row, and a scale for each row of an e4m3 cache."""
    if slots.shape != rows.shape[:1] or slots.dtype != torch.int32:
        raise ValueError(f"slots must be int32 [{rows.shape[0]}]")
    if (cache.dtype == E4M3) != (scales is not None):
        raise ValueError("scales belong to an e4m3 cache, and only to it")
    if scales is not None and (scales.shape != cache.shape[:3] or scales.dtype != torch.float32):
        raise ValueError(f"scales must be float32 {tuple(cache.shape[:3])}")
    tensors = [tensor for tensor in (rows, cache, slots, scales) if tensor is not None]
    if len({tensor.device for tensor in tensors}) > 1:
        raise ValueError("rows, cache, slots and scales must be on one device")
    if not (cache[0].is_contiguous() and rows.is_contiguous() and slots.is_contiguous()):
        raise ValueError("rows, slots and each page of the cache must be contiguous")
    if scales is not None and not scales.is_contiguous():
        raise ValueError("scales must be contiguous")
