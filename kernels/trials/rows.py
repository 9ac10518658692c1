"""Trials of what works on rows: RMSNorm, RoPE, and the choice of the next token."""

import torch

from kernels import reference
from kernels.rmsnorm import rmsnorm
from kernels.rope import rope
from kernels.sample import sample_greedy, sample_seeded
from kernels.trials.outcome import Outcome, compare, exactly
from kernels.trials.paged import Source

EPSILON = 1e-6
NEAR_TIE = 1e-5  # how close two noisy logits may be for float32 logarithms to confuse them
DRAWS = 400
FIVE_SIGMA = 5.0


def norm(name: str, device: str, width: int, dtype: torch.dtype) -> Outcome:
    source = Source(name, device)
    rows, weight = source.normal(3, width, dtype=dtype), source.normal(width, dtype=dtype)
    out = rmsnorm(rows, weight, EPSILON)
    truth = reference.rmsnorm(rows, weight, EPSILON)
    return compare(out, truth, reference.rmsnorm(rows, weight, EPSILON, compute=dtype))


def turn(name: str, device: str, dim: int, dtype: torch.dtype) -> Outcome:
    """Three heads of four tokens, positions out of order, in place."""
    source = Source(name, device)
    rows = source.normal(4, 3, dim, dtype=dtype)
    angle = source.normal(10, dim // 2)
    table = torch.cat([angle.cos(), angle.sin()], -1)
    positions = source.integers(9, 0, 3, 3)
    truth = reference.rope(rows, positions, table)
    rounded = reference.rope(rows, positions, table, compute=dtype)
    rope(rows, positions, table)
    return compare(rows, truth, rounded)


def greedy(name: str, device: str, vocabulary: int) -> Outcome:
    """Ties go to the first; a row whose last token wins is among the rows."""
    source = Source(name, device)
    logits = source.normal(4, vocabulary)
    logits[0, vocabulary // 3] = logits[0, vocabulary - 1] = 9.0
    logits[1, vocabulary - 1] = 9.0
    logits[2] = -3.0
    return exactly(sample_greedy(logits), logits.argmax(1).to(torch.int32))


def seeded(name: str, device: str, vocabulary: int) -> Outcome:
    """The drawn token is the largest noisy logit, or one that float32 cannot tell from it."""
    source = Source(name, device)
    logits = source.normal(5, vocabulary)
    seeds = torch.tensor([0, 1, 2**31, 2**40 + 7, 5], device=device)
    positions = source.integers(0, 1, 4095, 7, 7)
    temperatures = torch.tensor([1.0, 0.5, 2.0, 1.0, 0.1], device=device)
    drawn = sample_seeded(logits, seeds, positions, temperatures).long()
    noisy = reference.noisy_logits(logits, seeds, positions, temperatures)
    behind = noisy.max(1).values - noisy.gather(1, drawn[:, None])[:, 0]
    return Outcome(float(behind.max()), NEAR_TIE, f"drew {drawn.tolist()}")  # pyright: ignore[reportUnknownMemberType] - torch leaves tolist untyped


def distribution(name: str, device: str) -> Outcome:
    """Over many seeds the draws follow the softmax: how far off, in standard deviations."""
    source = Source(name, device)
    logits = source.normal(1, 5).repeat(DRAWS, 1)
    seeds = torch.arange(DRAWS, device=device)
    positions = torch.zeros(DRAWS, dtype=torch.int32, device=device)
    drawn = sample_seeded(logits, seeds, positions, torch.ones(DRAWS, device=device))
    expected = logits[0].double().softmax(0)
    seen = torch.bincount(drawn.long(), minlength=5).double() / DRAWS
    sigma = (expected * (1 - expected) / DRAWS).sqrt()
    return Outcome(float(((seen - expected).abs() / sigma).max()), FIVE_SIGMA)
