"""Where routing keys lived: a key stays with a worker that is well, and leaves a dead one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from chaos.clock import ns
from chaos.event import Event, Kind
from chaos.stage import FaultKind, Stage
from chaos.verdict import Outcome
from tests.chaos.second_opinion.asked import ROLES, Asked, role_of
from tests.chaos.second_opinion.charge import Charge, names, who_hit
from tests.chaos.second_opinion.scene import Scene
from tests.chaos.second_opinion.window import Window


def misrouted(requests: Sequence[Asked], scene: Scene) -> list[Charge]:
    found: list[Charge] = []
    for key in sorted({one.key for one in requests if one.key}):
        turns = [one for one in requests if one.key == key]
        for role in ROLES:
            found += _moved(turns, role, scene) + _stuck(turns, role, scene)
    return found


def _intake(one: Asked, role: str) -> Event | None:
    """Where it was last taken in: a router's retry may move it."""
    taken = [e for e in one.stages if e.stage is Stage.INTAKE and role_of(e.actor) == role]
    return taken[-1] if taken else None


def _home(one: Asked, role: str) -> str | None:
    taken = _intake(one, role)
    return taken.actor if taken else None


def _moved(turns: Sequence[Asked], role: str, scene: Scene) -> list[Charge]:
    found: list[Charge] = []
    intakes = [each for one in turns if (each := _intake(one, role)) is not None]
    left_after = set[tuple[str, str]]()  # which strike's end, and which worker
    driven_out = False
    for before, after in pairwise(intakes):
        if before.actor == after.actor:
            continue
        why = _driven_out_by(scene, before.actor, after.at_ns, left_after)
        if why is not None:
            left_after.add((why.name, before.actor))
            driven_out = True
        elif driven_out and after.actor == intakes[0].actor:
            driven_out = False
        else:
            blamed = who_hit(before.actor, before.at_ns, after.at_ns, scene.strikes)
            found.append(Charge(Outcome.MISROUTED, names(blamed)))
    return found


def _driven_out_by(
    scene: Scene, node: str, at_ns: int, left_after: set[tuple[str, str]]
) -> Window | None:
    """A strike on it that lasts, or one that was healed a moment ago and drove nobody out yet."""
    for each in scene.strikes:
        over_ns = each.healed_ns
        if (each.name, node) not in left_after:
            over_ns += ns(scene.budgets.recover_s)
        if each.hits(node) and each.began_ns <= at_ns <= over_ns:
            return each
    return None


def _stuck(turns: Sequence[Asked], role: str, scene: Scene) -> list[Charge]:
    """Sent long after its worker was killed, and it reached no other."""
    guards = scene.specification.guards
    bound_ns = ns(max(guards.get("sticky_sessions", 1.0), guards.get("router_health", 1.0)))
    found: list[Charge] = []
    home: str | None = None
    for one in turns:
        if _home(one, role) is not None:
            home = _home(one, role)
            continue
        dead = [each for each in scene.strikes if home and _killed(each, home)]
        late = [
            each for each in dead if each.began_ns + bound_ns < one.sent.at_ns <= each.healed_ns
        ]
        refused = one.end is not None and one.end.kind is Kind.REFUSED
        if late and refused:
            found.append(Charge(Outcome.MISROUTED, names(late)))
    return found


def _killed(strike: Window, node: str) -> bool:
    return strike.spec.kind is FaultKind.KILLED and strike.hits(node) and "->" not in strike.name
