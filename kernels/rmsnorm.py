"""RMSNorm of rows: the kernel and its launcher."""
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

WIDTH_MAX = 16_384  # a row is kept in registers
DTYPES = (torch.bfloat16, torch.float32)


@triton.jit
def rmsnorm_kernel(rows, weight, out, width, epsilon, BLOCK: tl.constexpr):
    """One row per CTA; the mean square is taken in float32."""
    column = tl.arange(0, BLOCK)
    valid = column < width
    at = tl.program_id(0).to(tl.int64) * width + column
    row = tl.load(rows + at, mask=valid, other=0.0).to(tl.float32)
    gain = tl.load(weight + column, mask=valid, other=0.0).to(tl.float32)
    inverse = tl.rsqrt(tl.sum(row * row, 0) / width + epsilon)
    tl.store(out + at, (row * inverse * gain).to(out.dtype.element_ty), mask=valid)


def rmsnorm(rows: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    """rows [tokens, width] over their root mean square, times weight [width].

    ValueError unless both are contiguous, on one device and of one supported dtype.
    """
    if rows.ndim != 2 or weight.shape != rows.shape[1:]:
        raise ValueError(f"expected [tokens, width] and [width], got {rows.shape}, {weight.shape}")
    if not 0 < rows.shape[1] <= WIDTH_MAX:
        raise ValueError(f"width {rows.shape[1]} is not supported: 1 to {WIDTH_MAX}")
    if rows.dtype not in DTYPES or weight.dtype != rows.dtype:
        raise ValueError(f"dtypes {rows.dtype}, {weight.dtype}: use one of {DTYPES} for both")
    if weight.device != rows.device:
        raise ValueError(f"rows are on {rows.device}, weight is on {weight.device}")
    if not (rows.is_contiguous() and weight.is_contiguous()):
        raise ValueError("rows and weight must be contiguous")
    out = torch.empty_like(rows)
    tokens, width = rows.shape
    block = triton.next_power_of_2(width)
    if tokens:
        rmsnorm_kernel[(tokens,)](rows, weight, out, width, epsilon, BLOCK=block,
                                  num_warps=max(1, min(8, block // 512)))  # fmt: skip
    return out
