"""Where routing keys lived: a key stays with a worker that is well, and leaves a dead one."""

from __future__ import annotations

from collections.abc import Sequence

from chaos.clock import ns
from chaos.event import Kind
from chaos.stage import FaultKind, Stage
from chaos.verdict import Outcome
from tests.chaos.second_opinion.asked import ROLES, Asked, role_of
from tests.chaos.second_opinion.charge import Charge, names
from tests.chaos.second_opinion.scene import Scene
from tests.chaos.second_opinion.window import Window


def misrouted(requests: Sequence[Asked], scene: Scene) -> list[Charge]:
    found: list[Charge] = []
    for key in sorted({one.key for one in requests if one.key}):
        turns = [one for one in requests if one.key == key]
        for role in ROLES:
            found += _moved(turns, role, scene) + _stuck(turns, role, scene)
    return found


def _home(one: Asked, role: str) -> str | None:
    """Where it was last taken in: a router's retry may move it."""
    taken = [e.actor for e in one.stages if e.stage is Stage.INTAKE and role_of(e.actor) == role]
    return taken[-1] if taken else None


def _moved(turns: Sequence[Asked], role: str, scene: Scene) -> list[Charge]:
    found: list[Charge] = []
    before: Asked | None = None
    first: str | None = None
    left_after = set[tuple[str, str]]()  # which strike's end, and which worker
    driven_out = False
    for one in turns:
        home = _home(one, role)
        if home is None:
            continue
        first = first or home
        left = _home(before, role) if before else None
        if before is not None and left is not None and left != home:
            at_ns = one.stages[-1].at_ns
            why = _driven_out_by(scene, left, at_ns, left_after)
            if why is not None:
                left_after.add((why.name, left))
                driven_out = True
            elif driven_out and home == first:
                driven_out = False
            else:
                blamed = _blamed(scene.strikes, left, before.stages[-1].at_ns, at_ns)
                found.append(Charge(Outcome.MISROUTED, names(blamed)))
        before = one
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


def _blamed(strikes: Sequence[Window], node: str, since_ns: int, until_ns: int) -> list[Window]:
    """Those on it meanwhile; else any meanwhile, and what one on it has left behind."""
    begun = [each for each in strikes if each.began_ns <= until_ns]
    meanwhile = [each for each in begun if each.healed_ns >= since_ns]
    on_it = [each for each in meanwhile if each.hits(node)]
    rest = [each for each in begun if each in meanwhile or each.hits(node) or not each.nodes]
    return on_it or rest


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
