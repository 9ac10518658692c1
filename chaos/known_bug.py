"""Owns what a known bug of a real engine amounts to: the verdict that must come, and nothing else.

A bug that is known stays visible: its test fails, on that kind of stack, with exactly the verdict
that was written down. Any other verdict is news, and so is a test that passes: the bug was mended,
or the test does not see it any more. Both are red.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaos.verdict import BROKEN, Outcome, Verdict


@dataclass(frozen=True, slots=True)
class KnownBug:
    """ValueError: no such verdict, or one that accuses nobody."""

    stack: str  # the kind of stack that has it
    verdict: str  # of every strike of the test
    what: str  # one line that a user can read
    by: str | None = None  # the guard or the alert that named it, where one did

    def __post_init__(self) -> None:
        names = [one.value for one in Outcome if one not in BROKEN]
        if self.verdict not in names:
            raise ValueError(f"known_bug: verdict is one of {', '.join(names)}: {self.verdict!r}")
        if not self.what or "\n" in self.what:
            raise ValueError("known_bug: what happens, in one line")


def settled(
    bug: KnownBug, verdicts: Sequence[Verdict], *, passed: bool, accused: bool
) -> str | None:
    """None: the bug was seen as it is known. Else what is wrong with that.

    `accused`: the test failed by an assertion, and not because something of ours broke.
    """
    seen = ", ".join(str(one) for one in verdicts) or "no verdict at all"
    expected = bug.verdict + (f" by {bug.by}" if bug.by else "")
    if passed:
        return f"known_bug (strict): expected {expected} ({bug.what}); it passes now: {seen}"
    if not accused:
        return f"known_bug: expected {expected}, and the test itself broke: {seen}"
    if not verdicts or not all(_is_it(bug, one) for one in verdicts):
        return f"known_bug: expected {expected} ({bug.what}); now it is {seen}"
    return None


def _is_it(bug: KnownBug, verdict: Verdict) -> bool:
    return verdict.outcome.value == bug.verdict and bug.by in (None, verdict.by)
