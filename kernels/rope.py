"""Rotary position embedding, in place: the kernel and its launcher."""
# ruff: noqa: ANN001, ANN201, N803, PLR2004 - Triton's own conventions: untyped runtime
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

from kernels.debug import require_inside

HEAD_DIMS = (16, 32, 64, 128)
DTYPES = (torch.bfloat16, torch.float32)


@triton.jit
def rope_kernel(rows, positions, table, heads, BLOCK_HEADS: tl.constexpr, HALF: tl.constexpr):
    """All heads of one token per CTA; dimension i is paired with i + HALF."""
    token = tl.program_id(0)
    head = tl.arange(0, BLOCK_HEADS)
    pair = tl.arange(0, HALF)
    valid = (head < heads)[:, None]
    turn = table + tl.load(positions + token).to(tl.int64) * (2 * HALF) + pair
    cosine = tl.load(turn)[None, :]
    sine = tl.load(turn + HALF)[None, :]
    low = rows + ((token.to(tl.int64) * heads + head) * (2 * HALF))[:, None] + pair[None, :]
    a = tl.load(low, mask=valid, other=0.0).to(tl.float32)
    b = tl.load(low + HALF, mask=valid, other=0.0).to(tl.float32)
    tl.store(low, (a * cosine - b * sine).to(rows.dtype.element_ty), mask=valid)
    tl.store(low + HALF, (b * cosine + a * sine).to(rows.dtype.element_ty), mask=valid)


def rope(rows: torch.Tensor, positions: torch.Tensor, table: torch.Tensor) -> None:
    """Turn rows [tokens, heads, dim] in place by positions [tokens] int32.

    table [positions_max, dim] float32 holds dim / 2 cosines, then as many sines. ValueError
    otherwise. A position outside of the table is the caller's fault, and noticed in debug mode.
    """
    tokens, heads, dim = rows.shape
    if dim not in HEAD_DIMS:
        raise ValueError(f"head dim {dim} is not supported: use one of {HEAD_DIMS}")
    if rows.dtype not in DTYPES or table.dtype != torch.float32:
        raise ValueError(f"rows must be one of {DTYPES} and the table float32")
    if positions.shape != (tokens,) or positions.dtype != torch.int32:
        raise ValueError(f"positions must be int32 [{tokens}]")
    if table.ndim != 2 or table.shape[1] != dim:
        raise ValueError(f"table must be [positions, {dim}], got {tuple(table.shape)}")
    if not rows.device == positions.device == table.device:
        raise ValueError("rows, positions and table must be on one device")
    if not (rows.is_contiguous() and positions.is_contiguous() and table.is_contiguous()):
        raise ValueError("rows, positions and table must be contiguous")
    require_inside("positions", positions, table.shape[0], "positions of the table")
    if tokens:
        rope_kernel[(tokens,)](rows, positions, table, heads,
                               BLOCK_HEADS=triton.next_power_of_2(heads), HALF=dim // 2,
                               num_warps=4)  # fmt: skip
