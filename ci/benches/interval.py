"""The median of a sample and its 95 % interval, from the order of the sample alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float


def median_interval(sample: Sequence[float], confidence: float = CONFIDENCE) -> Interval | None:
    """Where the median of what was sampled lies. None: too few for this confidence (below 6).

    The sign test's interval (Conover, Practical Nonparametric Statistics, 3.2): the k-th smallest
    and the k-th largest value, with the largest k for which Binomial(n, 1/2) leaves at most half of
    the error on each side. It assumes nothing of the distribution but that it has a median.
    """
    size = len(sample)
    tail, k = 0.0, 0
    while k < size:
        tail += comb(size, k) / 2**size
        if tail > (1 - confidence) / 2:
            break
        k += 1
    if k == 0:
        return None
    inorder = sorted(sample)
    return Interval(inorder[k - 1], inorder[size - k])


def middle(sample: Sequence[float]) -> float:
    return median(sample)
