"""A history as the table in which tests write theirs, so that it can be pasted into one."""

from __future__ import annotations

from chaos.event import Event
from chaos.history import History
from tests.chaos.second_opinion.difference import Difference
from tests.chaos.second_opinion.draft import BEGIN_NS

LEFT_OUT = ("sha256", "prompt_sha256")


def report(history: History, found: list[Difference], seed: int, number: int) -> str:
    """What both say, and the history."""
    head = f"drawn({seed}, {number}), made as small as it gets:"
    return "\n".join([head, *(f"  {each}" for each in found), *_planned(history), *_told(history)])


def _planned(history: History) -> list[str]:
    planned = history.specification
    strikes = [
        f"# strike {one.strike!r}, {one.kind.value}{', only slows' if one.alive else ''}"
        for one in planned.strikes
    ]
    alerts = [
        f"# alert {one.name}: {one.reading} {one.op} {one.threshold:g} for {one.for_s:g} s"
        for one in planned.alerts
    ]
    guards = f"# guards {dict(planned.guards)}, concurrency {planned.concurrency}"
    return [guards, *strikes, *alerts]


def _told(history: History) -> list[str]:
    control = history.control.events if history.control else ()
    usual = [one for one in control if not one.about.startswith("recover/")]
    return ["# control", *map(_line, usual), "# run", *map(_line, history.events)]


def _line(event: Event) -> str:
    at_s = (event.at_ns - BEGIN_NS) / 1e9
    stage = f" stage={event.stage.value}" if event.stage else ""
    detail = " ".join(f"{k}={v}" for k, v in event.detail.items() if k not in LEFT_OUT)
    said = f"{at_s:g} {event.actor} {event.kind.value} {event.about}{stage} {detail}"
    return said.rstrip()
