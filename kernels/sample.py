"""Chooses the next token: the largest logit, or a seeded draw; the kernel and its launchers.

A draw adds Gumbel noise to logits / temperature and takes the largest. The noise of a token comes
from Philox, keyed by the request's seed and counted by (token, position): the same request draws
the same token in any batch, on any GPU.
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

BLOCK = 1024
DTYPES = (torch.bfloat16, torch.float32)


@triton.jit
def noisy_logits(scores, token, seeds, positions, temperatures, request):
    """scores / temperature plus Gumbel noise, for one block of tokens."""
    counter = token.to(tl.uint32)
    position = tl.zeros_like(counter) + tl.load(positions + request).to(tl.uint32)
    zero = tl.zeros_like(counter)
    noise, _, _, _ = tl.philox(tl.load(seeds + request), counter, position, zero, zero)
    uniform = tl.uint_to_uniform_float(noise)
    return scores / tl.load(temperatures + request) - tl.log(-tl.log(uniform))


@triton.jit
def sample_kernel(logits, seeds, positions, temperatures, out, vocabulary, GREEDY: tl.constexpr,
                  BLOCK: tl.constexpr):  # fmt: skip
    """One request per CTA, a block of the vocabulary at a time; of equals the first wins."""
    request = tl.program_id(0)
    row = logits + request.to(tl.int64) * vocabulary
    best = float("-inf")
    chosen = 0
    for first in range(0, vocabulary, BLOCK):
        token = first + tl.arange(0, BLOCK)
        valid = token < vocabulary
        scores = tl.load(row + token, mask=valid, other=float("-inf")).to(tl.float32)
        if not GREEDY:
            scores = noisy_logits(scores, token, seeds, positions, temperatures, request)
        scores = tl.where(valid, scores, float("-inf"))
        highest = tl.max(scores, 0)
        if highest > best:
            best = highest
            chosen = first + tl.argmax(scores, 0)
    tl.store(out + request, chosen)


def sample_greedy(logits: torch.Tensor) -> torch.Tensor:
    """The first largest of each row of logits [requests, vocabulary]: int32 [requests]."""
    require_logits(logits)
    out = torch.empty(logits.shape[0], dtype=torch.int32, device=logits.device)
    if logits.shape[0]:
        sample_kernel[(logits.shape[0],)](logits, None, None, None, out, logits.shape[1],
                                          GREEDY=True, BLOCK=BLOCK, num_warps=4)  # fmt: skip
    return out


def sample_seeded(logits: torch.Tensor, seeds: torch.Tensor, positions: torch.Tensor,
                  temperatures: torch.Tensor) -> torch.Tensor:  # fmt: skip
    """A draw from softmax(logits / temperature): int32 [requests].

    logits [requests, vocabulary]; seeds [requests] int64; positions [requests] int32, the place
    in the sequence; temperatures [requests] float32, above zero (the caller's duty: they may be on
    a GPU). ValueError otherwise.
    """
    require_logits(logits)
    wanted = ((seeds, torch.int64), (positions, torch.int32), (temperatures, torch.float32))
    for tensor, dtype in wanted:
        if tensor.shape != logits.shape[:1] or tensor.dtype != dtype:
            raise ValueError(f"expected {dtype} [{logits.shape[0]}], got {tensor.dtype}")
        if tensor.device != logits.device or not tensor.is_contiguous():
            raise ValueError("all tensors must be contiguous and on the logits' device")
    out = torch.empty(logits.shape[0], dtype=torch.int32, device=logits.device)
    if logits.shape[0]:
        sample_kernel[(logits.shape[0],)](logits, seeds, positions, temperatures, out,
                                          logits.shape[1], GREEDY=False, BLOCK=BLOCK,
                                          num_warps=4)  # fmt: skip
    return out


def require_logits(logits: torch.Tensor) -> None:
    """ValueError unless logits are [requests, vocabulary], contiguous and of a supported dtype."""
    if logits.ndim != 2 or logits.shape[1] < 1:
        raise ValueError(f"logits must be [requests, vocabulary], got {tuple(logits.shape)}")
    if logits.dtype not in DTYPES:
        raise ValueError(f"logits dtype {logits.dtype} is not supported: use one of {DTYPES}")
    if not logits.is_contiguous():
        raise ValueError("logits must be contiguous")
