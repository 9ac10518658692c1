"""Compares what one test got with its promises, and with the lines of its expected file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from chaos.expectation import Expectation, came, to_line
from chaos.expected_file import ExpectedFile
from chaos.verdict import BROKEN, Allowed, Verdict, accepted

EXPLAIN = "WHAT HAPPENS, AND WHY IT IS NOT OURS"  # a person puts the reason there


@dataclass(frozen=True, slots=True)
class Difference:
    """One verdict that is not the one of the file, and the line that would make it right."""

    key: str
    verdict: Verdict
    stood: str  # what the file says, and where
    proposal: Expectation
    promised: bool  # only what the suite promises may be accepted without a person's reason

    @property
    def line(self) -> str:
        return to_line(self.key, self.proposal)


@dataclass(frozen=True, slots=True)
class Comparison:
    refused: tuple[Verdict, ...] = ()  # not promised, and no known bug either
    known: tuple[Verdict, ...] = ()  # not promised: known bugs that came exactly as they are known
    reasons: tuple[str, ...] = ()  # of the known ones
    differences: tuple[Difference, ...] = ()
    accepted: tuple[Difference, ...] = ()  # that the file is going to say

    @property
    def red(self) -> frozenset[str]:
        """The strikes that make the test fail."""
        return frozenset(
            one.strike for one in (*self.refused, *(two.verdict for two in self.differences))
        )

    def accepting(self) -> Comparison:
        """What remains when every line that may be written is going to be: what is promised, or
        a known bug whose reason stands there already."""
        accepted = tuple(one for one in self.differences if one.proposal.known_bug != EXPLAIN)
        left = tuple(one for one in self.differences if one not in accepted)
        return replace(self, differences=left, accepted=accepted)


@dataclass(frozen=True, slots=True)
class Expected:
    """One test, and the file that says which verdicts it gets; without a file there is none."""

    test: str = ""  # its id, from the folder that holds `expected/`
    file: ExpectedFile | None = None

    def compare(
        self, play: int, verdicts: Sequence[Verdict], allowed: Iterable[Allowed]
    ) -> Comparison:
        """`play` counts from 1. What proves nothing is compared with nothing: it is refused."""
        choices = tuple(allowed)
        unpromised = [one for one in verdicts if not accepted(one, choices)]
        known = {one.strike: why for one in unpromised if (why := self._known(play, one))}
        return Comparison(
            tuple(one for one in unpromised if one.strike not in known),
            tuple(one for one in unpromised if one.strike in known),
            tuple(dict.fromkeys(known.values())),
            tuple(self._differences(play, verdicts, unpromised)),
        )

    def _known(self, play: int, verdict: Verdict) -> str | None:
        line = self.file.line(self.test, key_of(play, verdict.strike)) if self.file else None
        met = line is not None and line.expectation.is_met_by(verdict)
        return line.expectation.known_bug if line is not None and met else None

    def _differences(
        self, play: int, verdicts: Sequence[Verdict], unpromised: Sequence[Verdict]
    ) -> Iterator[Difference]:
        if self.file is None:
            return
        for verdict in verdicts:
            key, promised = key_of(play, verdict.strike), verdict not in unpromised
            line = self.file.line(self.test, key)
            before = line.expectation if line else None
            if verdict.outcome in BROKEN or (
                before and _is_right(before, verdict, promised=promised)
            ):
                continue
            bug = before.known_bug if before else None
            proposal = replace(
                came(verdict, before), known_bug=None if promised else bug or EXPLAIN
            )
            yield Difference(key, verdict, self._stood(key), proposal, promised)

    def _stood(self, key: str) -> str:
        assert self.file is not None
        line = self.file.line(self.test, key)
        if line is None:
            return f"no line yet in {self.file.where(self.test)}"
        bug = ", as a known bug" if line.expectation.known_bug else ""
        return f"{line.expectation}{bug} ({self.file.where(self.test, key)})"


def key_of(play: int, strike: str) -> str:
    """Under which name a strike stands in the file: a test may play more than once."""
    return strike if play == 1 else f"play {play}, {strike}"


def _is_right(before: Expectation, verdict: Verdict, *, promised: bool) -> bool:
    """A known bug must break the promise: else it is none any more."""
    return before.is_met_by(verdict) and not (promised and before.known_bug)
