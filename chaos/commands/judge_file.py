"""`python -m chaos judge FILE`: the verdicts of a kept history, without a stack."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from chaos.commands.bad_input import BadInput
from chaos.commands.history_source import load
from chaos.commands.oracles import accusers
from chaos.history import History
from chaos.judge import judge
from chaos.reports.failure import failure_text
from chaos.reports.matrix import judged, list_text
from chaos.reports.printable import printable
from chaos.reports.timeline import timeline_svg
from chaos.verdict import Allowed, Outcome, Verdict, accepted

TOOK = re.compile(r" in \d+\.\d\d s$")  # as a verdict's text ends


def add(commands: argparse.ArgumentParser) -> None:
    commands.add_argument("file", type=Path, help="a history, as `pytest suites/` keeps it")
    commands.add_argument(
        "--expect",
        help="the verdicts, one per strike and in their order, as the run showed them: for example "
        "'CAUGHT by prefill_inflight_watchdog,TOLERATED'; without it: what the history allows",
    )
    commands.add_argument("--timeline", type=Path, help="also draw the history into this SVG file")
    commands.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0: the verdicts are the expected or allowed ones; 1: they are not."""
    history = load(arguments.file)
    expected = None if arguments.expect is None else expectation(arguments.expect)
    verdicts = judge(history, accusers())
    print(list_text(judged(history, verdicts)))
    if arguments.timeline is not None:
        _draw(arguments.timeline, history, verdicts)
    if expected is not None:
        return _compare(expected, verdicts)
    refused = [one for one in verdicts if not accepted(one, history.specification.allowed)]
    if refused:
        print(f"\n{failure_text(history, refused, arguments.file, 'see the test that wrote it')}")
    return 1 if refused else 0


def expectation(text: str) -> list[Allowed]:
    """Reads "CAUGHT by guard+another,SILENT". BadInput: a word that is no verdict.

    A time, as in "CAUGHT by guard in 1.53 s", may stand there and is not compared.
    """
    return [_allowed(TOOK.sub("", part.strip())) for part in text.split(",")]


def _allowed(text: str) -> Allowed:
    word, by, name = text.partition(" by ")
    if word not in Outcome.__members__:
        known = ", ".join(Outcome.__members__)
        raise BadInput(f"--expect: {word!r} is no verdict; expected one of {known}")
    if by and not name.strip():
        raise BadInput(f"--expect: {text!r} names nobody; expected a guard or an alert after 'by'")
    return Allowed(Outcome[word], name.strip() if by else None)


def _compare(expected: Sequence[Allowed], verdicts: Sequence[Verdict]) -> int:
    if len(expected) != len(verdicts):
        print(f"expected {len(expected)} verdicts, came {len(verdicts)}")
        return 1
    wrong = [(e, v) for e, v in zip(expected, verdicts, strict=True) if not accepted(v, [e])]
    for one, verdict in wrong:
        print(printable(f"{verdict.strike}: expected {one}, came {verdict}"))
    return 1 if wrong else 0


def _draw(file: Path, history: History, verdicts: Sequence[Verdict]) -> None:
    try:
        file.write_text(timeline_svg(history, verdicts), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"--timeline {file}: {error.strerror or error}") from error
