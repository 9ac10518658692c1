"""What was found, and which strikes may have done it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaos.verdict import Outcome
from tests.chaos.second_opinion.asked import Asked
from tests.chaos.second_opinion.window import Window

REPLY = "the reply"  # an honest error that no guard names


@dataclass(frozen=True, slots=True)
class Charge:
    """No strike: it is fault-free."""

    outcome: Outcome
    strikes: tuple[str, ...]
    by: tuple[str, ...] = ()
    at_ns: int = 0  # when an alert told of it


def who_touched(one: Asked, late_ns: int, until_ns: int, strikes: Sequence[Window]) -> list[Window]:
    """Those that hurt where it ran, meanwhile; and those that had hurt there before, if it was late
    already when the first of these began. Else those that hurt elsewhere meanwhile. Else nobody."""
    begun = [each for each in strikes if each.began_ns <= until_ns]
    meanwhile = [each for each in begun if each.healed_ns >= one.sent.at_ns]
    there = [each for each in begun if each.could_touch(one)]
    both = [each for each in there if each in meanwhile]
    if any(each.began_ns <= late_ns for each in both):
        return both
    return there or meanwhile


def who_hit(node: str, since_ns: int, until_ns: int, strikes: Sequence[Window]) -> list[Window]:
    """Those that hurt that node meanwhile. Else those that hurt anything meanwhile, and what those
    that had hurt it, or no node in particular, have left behind."""
    begun = [each for each in strikes if each.began_ns <= until_ns]
    meanwhile = [each for each in begun if each.healed_ns >= since_ns]
    on_it = [each for each in meanwhile if each.hits(node)]
    rest = [each for each in begun if each in meanwhile or each.hits(node) or not each.nodes]
    return on_it or rest


def names(strikes: Sequence[Window]) -> tuple[str, ...]:
    return tuple(each.name for each in strikes)
