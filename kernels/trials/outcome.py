"""What a trial found, and how much error the reference's own rounding noise allows."""

from dataclasses import asdict, dataclass

import torch

NOISE_FACTOR = 2.0  # a kernel adds in another order than the reference; measured: below 1
STEPS = {torch.float32: 2.0**-23, torch.bfloat16: 2.0**-8}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The largest error of one trial and what was allowed; NaN is never allowed."""

    error: float
    allowed: float
    note: str = ""

    @property
    def holds(self) -> bool:
        return self.error <= self.allowed

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "holds": self.holds}


def compare(out: torch.Tensor, truth: torch.Tensor, rounded: torch.Tensor) -> Outcome:
    """`truth` is the reference in float64, `rounded` the same reference in the inputs' precision.

    Their distance is the noise that rounding alone makes. At least half a step of the output's
    dtype at the truth's largest value is allowed: no one can store better.
    """
    step = STEPS[out.dtype] * float(truth.abs().max()) / 2
    noise = float((rounded.double() - truth).abs().max())
    error = float((out.double() - truth).abs().max())
    return Outcome(error, NOISE_FACTOR * noise + step)


def exactly(out: torch.Tensor, expected: torch.Tensor) -> Outcome:
    """Nothing but bit for bit the same will do."""
    differing = int((as_bits(out) != as_bits(expected)).sum())
    return Outcome(float(differing), 0.0, f"{differing} of {expected.numel()} elements differ")


def as_bits(tensor: torch.Tensor) -> torch.Tensor:
    """So that a NaN equals itself."""
    return tensor.contiguous().view(torch.uint8)


def worst(outcomes: list[Outcome]) -> Outcome:
    """The one that is furthest over, or nearest to, what it allows."""
    return max(outcomes, key=lambda one: (not one.holds, one.error - one.allowed))
