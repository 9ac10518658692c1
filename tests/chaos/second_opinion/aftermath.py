"""After healing: does it serve one, does it serve many, and is all given back?"""

from __future__ import annotations

from collections.abc import Sequence

from chaos.actor import RESOURCE
from chaos.clock import ns
from chaos.event import Event, Kind
from chaos.verdict import Outcome
from tests.chaos.second_opinion.asked import Asked, asked
from tests.chaos.second_opinion.charge import Charge, names
from tests.chaos.second_opinion.reply import Reply, reply
from tests.chaos.second_opinion.scene import Scene


def not_recovered(scene: Scene) -> list[Charge]:
    """What is found after all strikes is charged to all of them."""
    probes = asked(scene.events, recovery=True)
    if not all(is_served(one, scene) for one in probes):
        return [Charge(Outcome.NOT_RECOVERED, names(scene.strikes))]
    if any(reply(one, scene.right(one)) is Reply.WRONG for one in probes):
        return [Charge(Outcome.WRONG, names(scene.strikes))]
    return []


def was_not_looked_at(scene: Scene) -> bool:
    """A probe that was not sent, or a resource that was not read, proves nothing."""
    probes = asked(scene.events, recovery=True)
    if not all(is_served(one, scene) for one in probes):
        return False
    many = [one for one in probes if one.name.startswith("recover/capacity-")]
    lone = [one for one in probes if one.name == "recover/lone"]
    if not lone or len(many) < scene.specification.concurrency:
        return True
    steady, rest, gone = _levels(scene.events)
    unread = [name for name in steady if name not in rest or name.partition("/")[0] in gone]
    _, usual, _ = _levels(scene.control or ())
    new = [name for name in rest if name not in steady and name not in usual]
    return not steady or (bool(unread + new) and not leaks(scene))


def is_served(one: Asked, scene: Scene) -> bool:
    if one.end is None or one.end.kind is not Kind.FINISHED:
        return False
    took_ns, usual = one.end.at_ns - one.sent.at_ns, scene.usual(one)
    if usual is None or usual.end is None:
        return True
    return took_ns <= usual.end.at_ns - usual.sent.at_ns + ns(scene.budgets.delay_s)


def leaks(scene: Scene) -> list[Charge]:
    """A resource is back when its last reading is no higher than before the load, or than the
    control's after its own load."""
    steady, rest, gone = _levels(scene.events)
    _, usual, _ = _levels(scene.control or ())
    above = [
        name
        for name in rest
        if name.partition("/")[0] not in gone
        and (name in steady or name in usual)
        and rest[name] > max(steady.get(name, 0.0), usual.get(name, 0.0))
    ]
    return [Charge(Outcome.LEAKED, names(scene.strikes))] if above else []


def _levels(events: Sequence[Event]) -> tuple[dict[str, float], dict[str, float], set[str]]:
    """Each resource before the load, each after it, and the nodes not readable at the end."""
    steady: dict[str, float] = {}
    rest: dict[str, float] = {}
    gone: set[str] = set()
    recovering = False
    for event in events:
        recovering = recovering or (event.kind is Kind.PHASE and event.about == "recover")
        if event.actor != RESOURCE:
            continue
        value, node = event.detail.get("value"), event.about.partition("/")[0]
        if event.kind is Kind.UNREADABLE and recovering:
            gone.add(node)
        elif event.kind is Kind.READING and isinstance(value, int | float):
            (rest if recovering else steady)[event.about] = float(value)
            gone.discard(node)
    return steady, rest, gone
