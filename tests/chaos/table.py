"""A history as a table that a reader can check with a finger: one event a line.

seconds  actor      kind      about   details as name=value; also stage=, attempt=
0.0      run        phase     disturb
1.0      client     sent      r1      routing_key=agent-1
1.2      decode-0   guard     r1      guard=waiting_timeout why="no KV pages"
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace

from chaos.clock import ns
from chaos.event import Json, Kind, Mark
from chaos.history import History, ordered
from chaos.specification import Alert, Budgets, Specification, StrikeSpec
from chaos.stage import FaultKind, Stage

BEGIN_NS = 5_000_000_000  # a clock that does not begin at zero


def marks(table: str) -> tuple[Mark, ...]:
    lines = [line.partition("#")[0].strip() for line in table.splitlines()]
    return tuple(_mark(line) for line in lines if line)


def _mark(line: str) -> Mark:
    at_s, actor, kind, about, *rest = shlex.split(line)
    detail = {name: _value(text) for name, _, text in (one.partition("=") for one in rest)}
    stage, attempt = detail.pop("stage", None), detail.pop("attempt", None)
    return Mark(
        BEGIN_NS + ns(float(at_s)),
        actor,
        Kind(kind),
        about,
        None if stage is None else Stage(stage),
        attempt if isinstance(attempt, int) else None,
        detail,
    )


def _value(text: str) -> Json:
    """Numbers, true, false and null are values; all else is text."""
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float | None) else text


def strike(
    name: str = "S1",
    kind: FaultKind = FaultKind.LATE,
    nodes: tuple[str, ...] = (),
    *,
    alive: bool = False,
) -> StrikeSpec:
    return StrikeSpec(name, "stall", Stage.TRANSFER, kind, "at 1 s", 8.0, nodes, alive)


SPECIFICATION = Specification(
    name="a table",
    seed=7,
    stack="fake",
    workload="by hand",
    concurrency=1,
    budgets=Budgets(),
    guards={"waiting_timeout": 3.0, "stream_idle_guard": 3.0},
    patience={"waiting_timeout": 2.0, "stream_idle_guard": 2.0, "step_watchdog": 2.0},
)


def history(
    table: str,
    *,
    control: str | None = None,
    strikes: Sequence[StrikeSpec] = (),
    alerts: Sequence[Alert] = (),
    specification: Specification = SPECIFICATION,
) -> History:
    planned = replace(specification, alerts=tuple(alerts))
    fault_free = None if control is None else History(ordered(marks(control)), planned)
    return History(ordered(marks(table)), replace(planned, strikes=tuple(strikes)), fault_free)


# A run of one request without a fault, the whole way: what other tables are compared with.
CONTROL = """
    0.0  run       phase    steady
    0.1  resource  reading  prefill-0/pages  value=0
    0.2  run       phase    disturb
    1.0  client    sent     r1
    1.1  decode-0  stage    r1  stage=intake attempt=7
    1.2  client    tokens   r1  text=abcdefghijkl
    1.5  client    finished r1  finish_reason=length done=true
    2.0  run       phase    heal
    2.1  run       phase    converge
    2.2  run       phase    recover
    2.3  client    sent     recover/lone
    2.4  client    tokens   recover/lone  text=lonelone
    2.5  client    finished recover/lone  finish_reason=length done=true
    2.6  client    sent     recover/capacity-1/0
    2.7  client    tokens   recover/capacity-1/0  text=capacity
    2.8  client    finished recover/capacity-1/0  finish_reason=length done=true
    2.9  resource  reading  prefill-0/pages  value=0
    3.0  run       phase    done
"""

# What follows the load when all is well again; it begins 20 s after the run did.
RECOVERED = """
    20.0 run       phase    recover
    20.3 client    sent     recover/lone
    20.4 client    tokens   recover/lone  text=lonelone
    20.5 client    finished recover/lone  finish_reason=length done=true
    20.6 client    sent     recover/capacity-1/0
    20.7 client    tokens   recover/capacity-1/0  text=capacity
    20.8 client    finished recover/capacity-1/0  finish_reason=length done=true
    20.9 resource  reading  prefill-0/pages  value=0
    21.0 run       phase    done
"""

STRUCK = """
    0.0  run       phase    steady
    0.1  resource  reading  prefill-0/pages  value=0
    0.2  run       phase    disturb
    1.1  fault     struck   S1  bit=true
    9.0  fault     healed   S1  bit=true
"""


def played(load: str, before: str = STRUCK, after: str = RECOVERED) -> str:
    """The load's own lines, between a beginning and an end that need no attention."""
    return f"{before}\n{load}\n{after}"
