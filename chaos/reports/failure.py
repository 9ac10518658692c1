"""The text of an experiment that did not keep its promise: what happened, and how to see it again.

The first line begins with the worst verdict's name: ci/categories.json sorts by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import shorten, wrap

from chaos.comparison import Difference
from chaos.event import Event
from chaos.history import History
from chaos.reports.event_line import event_line, seconds_in
from chaos.reports.printable import printable
from chaos.specification import StrikeSpec
from chaos.verdict import BROKEN, Outcome, Verdict

EVIDENCE_LINES_MAX = 30
LINE_MAX = 110
HEADLINE_MAX = 200  # the whole reason stands below
ORDER = list(Outcome)  # from best to worst; the last two accuse nobody


def failure_text(
    history: History,
    refused: Sequence[Verdict],
    file: Path,
    reproduce: str,
    differences: Sequence[Difference] = (),
) -> str:
    """Why these verdicts were refused, as a stranger can read it, worst first.

    `file` is where the history was kept, `reproduce` the command that plays it again;
    `differences` are those from the expected file, each with the line that would make it right.
    """
    told = {one.verdict.strike: one for one in differences}
    worst_first = sorted(refused, key=_badness, reverse=True)
    allowed = [one.verdict for one in differences if one.verdict not in refused]
    blocks = [_block(history, one, told.get(one.strike)) for one in (*worst_first, *allowed)]
    head = headline(worst_first[0], history) if worst_first else _news(differences[0], history)
    again = [f"history   {file}", f"again     {reproduce}"]
    return "\n".join(map(printable, [head, "", *_joined(blocks), "", *again]))


def headline(verdict: Verdict, history: History) -> str:
    """`SILENT, not allowed: ...`: one line, begun by the word that categories sort by."""
    return _headline(
        verdict, history, "broken, proves nothing" if verdict.outcome in BROKEN else "not allowed"
    )


def _news(difference: Difference, history: History) -> str:
    return _headline(difference.verdict, history, "not expected")


def _headline(verdict: Verdict, history: History, stand: str) -> str:
    reason = shorten(verdict.reason, HEADLINE_MAX, placeholder=" ...")
    return f"{verdict.outcome.value}, {stand}: {reason} [{history.specification.name}]"


def _badness(verdict: Verdict) -> int:
    """An accusation outweighs a broken experiment: NO_OP and UNKNOWN sort below all others."""
    place = ORDER.index(verdict.outcome)
    return place - len(ORDER) if verdict.outcome in BROKEN else place


def _joined(blocks: Iterable[list[str]]) -> list[str]:
    lines: list[str] = []
    for block in blocks:
        lines += ["", *block] if lines else block
    return lines


def _block(history: History, verdict: Verdict, difference: Difference | None) -> list[str]:
    spec = history.specification
    strike = next((one for one in spec.strikes if one.strike == verdict.strike), None)
    allowed = ", or ".join(str(one) for one in spec.allowed) or "nothing"
    if verdict.unpromised:
        allowed = "TOLERATED: no strike can have done it"
    lines = [
        f"strike    {_strike(verdict, strike)}",
        f"verdict   {verdict}",
        *_wrapped("why", verdict.reason),
        *_wrapped("requests", ", ".join(verdict.about) or "none was affected"),
        f"stage     {verdict.stage or 'not known'}",
        f"after     {_after(verdict)}",
        f"signal    {_signal(verdict)}",
        f"allowed   {allowed}",
        *_expected(difference),
    ]
    return [*lines, *_evidence(history, verdict)]


def _expected(difference: Difference | None) -> list[str]:
    """What the expected file says, and its line for this; never wrapped, as it is to be copied."""
    if difference is None:
        return []
    when = "if that is right: --accept writes it"
    if not difference.promised:
        when = "if a person finds it to be a known bug, with the reason"
    return [
        f"expected  {difference.stood}",
        f"to write  {difference.line}",
        f"          {when}",
    ]


def _wrapped(word: str, said: str) -> list[str]:
    """A word and what it says, on as many lines as that needs."""
    lines = wrap(said, LINE_MAX) or [""]
    return [f"{'' if index else word:<9} {line}" for index, line in enumerate(lines)]


def _strike(verdict: Verdict, strike: StrikeSpec | None) -> str:
    if strike is None:
        return verdict.strike
    where = f"{strike.stage.value}, {strike.kind.value}"
    return f"{strike.strike} ({where}), {strike.trigger}, for {strike.for_s:g} s"


def _after(verdict: Verdict) -> str:
    return "no time was taken" if verdict.after_s is None else f"{verdict.after_s:.2f} s"


def _signal(verdict: Verdict) -> str:
    if verdict.by is None:
        return "no signal moved: no guard and no alert was named"
    return f"alert {verdict.by}" if verdict.outcome is Outcome.SURFACED else f"guard {verdict.by}"


def _evidence(history: History, verdict: Verdict) -> list[str]:
    wanted = set(verdict.evidence)
    events = [event for event in history if event.seq in wanted]
    lines = [_line(history, event) for event in events[:EVIDENCE_LINES_MAX]]
    if len(events) > EVIDENCE_LINES_MAX:
        lines.append(f"... and {len(events) - EVIDENCE_LINES_MAX} more in the history")
    missing = len(wanted) - len(events)
    if missing:
        lines.append(f"... and {missing} that this history does not hold")
    if not lines:
        lines = ["no event was named"]
    return [f"{'evidence' if not index else '':<9} {line}" for index, line in enumerate(lines)]


def _line(history: History, event: Event) -> str:
    return event_line(event, seconds_in(history, event))
