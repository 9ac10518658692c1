"""Which faults were played at which stage, and what became of them: for the terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chaos.history import History
from chaos.reports.printable import printable
from chaos.stage import FaultKind, Stage
from chaos.verdict import BROKEN, CONTROL, Outcome, Verdict, accepted

ORDER = list(Outcome)
EMPTY = "·"
ALONE = " by the reply alone"  # of some request no guard's own event says that it ended it


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict and its places in the matrix; none for a fault-free experiment."""

    experiment: str
    verdict: Verdict
    places: tuple[tuple[Stage, FaultKind], ...] = ()
    allowed: bool = True
    known_bug: bool = False  # not allowed, and expected all the same


def judged(history: History, verdicts: Iterable[Verdict]) -> tuple[Judged, ...]:
    """Each verdict with the stage and kind of its strike."""
    spec = history.specification
    return tuple(
        Judged(
            spec.name,
            verdict,
            tuple((s.stage, s.kind) for s in spec.strikes if s.strike == verdict.strike),
            accepted(verdict, spec.allowed),
        )
        for verdict in verdicts
    )


def matrix_text(rows: Sequence[Judged]) -> str:
    """Stages down, fault kinds across; each cell the worst verdict, and how many more."""
    cells = _cells(rows)
    kinds = [kind for kind in FaultKind if any(key[1] is kind for key in cells)]
    stages = [stage for stage in Stage if any(key[0] is stage for key in cells)]
    if not cells:
        return "no strike was judged"
    table = [["stage", *(kind.name for kind in kinds)]]
    table += [[stage.value, *(_cell(cells.get((stage, k), [])) for k in kinds)] for stage in stages]
    covered = f"{len(cells)} of {len(Stage) * len(FaultKind)} cells of the stage x fault matrix"
    return "\n".join([*_columns(table), "", f"{covered}; {_tally(rows)}"])


def list_text(rows: Sequence[Judged]) -> str:
    """One line per strike: experiment, strike, verdict; a mark where it was not allowed, and
    another one where it is a known bug. A control that is no reference is told first: what follows
    from it is no news of its own."""
    controls_first = sorted(rows, key=lambda row: row.verdict.strike != CONTROL)
    table = [
        [_mark(row), row.experiment, row.verdict.strike, str(row.verdict)] for row in controls_first
    ]
    return "\n".join(_columns(table))


def _mark(row: Judged) -> str:
    """As pytest marks an expected failure: x."""
    if row.known_bug:
        return "x "
    return "  " if row.allowed else "! "


def verdicts_text(rows: Iterable[Judged]) -> str:
    """Every verdict of one test on one line; those that say the same are counted."""
    told = [printable(str(row.verdict)) for row in rows]
    counted = {text: told.count(text) for text in told}
    return "; ".join(text if n == 1 else f"{text} x{n}" for text, n in counted.items())


def _cells(rows: Iterable[Judged]) -> dict[tuple[Stage, FaultKind], list[Outcome]]:
    cells: dict[tuple[Stage, FaultKind], list[Outcome]] = defaultdict(list)
    for row in rows:
        for place in row.places:
            cells[place].append(row.verdict.outcome)
    return dict(cells)


def _badness(outcome: Outcome) -> int:
    """A cell shows an accusation before a broken experiment, and that before a good verdict."""
    if outcome in BROKEN:
        return ORDER.index(Outcome.SURFACED) * 2 + 1
    return ORDER.index(outcome) * 2


def _cell(outcomes: Sequence[Outcome]) -> str:
    if not outcomes:
        return EMPTY
    worst = max(outcomes, key=_badness)
    same = outcomes.count(worst)
    count = f" x{same}" if same > 1 else ""
    others = f" +{len(outcomes) - same}" if len(outcomes) > same else ""
    return f"{worst.value}{count}{others}"


def _tally(rows: Iterable[Judged]) -> str:
    """How often each verdict came; CAUGHT by a reply that no guard's event names counts apart."""
    counted: dict[str, int] = defaultdict(int)
    for row in rows:
        counted[_word(row.verdict)] += 1
    words = [word for one in ORDER for word in (one.value, f"{one.value}{ALONE}")]
    return ", ".join(f"{word} {counted[word]}" for word in words if counted[word])


def _word(verdict: Verdict) -> str:
    alone = verdict.outcome is Outcome.CAUGHT and verdict.unnamed
    return f"{verdict.outcome.value}{ALONE}" if alone else verdict.outcome.value


def _columns(table: Sequence[Sequence[str]]) -> list[str]:
    """Left-aligned columns, two blanks between them, no blank at a line's end."""
    shown = [[printable(text) for text in row] for row in table]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return [
        "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    ]
