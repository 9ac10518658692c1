"""What one request of the load is charged with, and to whom."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from chaos.clock import ns
from chaos.event import Kind
from chaos.verdict import Outcome
from tests.chaos.second_opinion.alerts import Firing, firings, has_samples
from tests.chaos.second_opinion.asked import Asked, role_of
from tests.chaos.second_opinion.charge import REPLY, Charge, names, who_touched
from tests.chaos.second_opinion.reply import Reply, is_error, reply
from tests.chaos.second_opinion.scene import Scene
from tests.chaos.second_opinion.window import Window


@dataclass(frozen=True, slots=True)
class Clock:
    """When it was hurt (and at the latest), since when it is waited for, when it ended, and when it
    was due."""

    strikes: tuple[Window, ...]
    hurt_ns: int
    entered_ns: int | None
    start_ns: int
    end_ns: int
    due_ns: int
    hung: bool

    @property
    def blamed(self) -> tuple[str, ...]:
        return names(self.strikes)


def charges_for(one: Asked, scene: Scene) -> list[Charge]:
    """None: it was not affected. What is wrong may have come too late besides."""
    clock = _clock(one, scene)
    said = reply(one, scene.right(one))
    found = _of_time(one, said, clock, scene)
    if said is Reply.WRONG:
        met = blamed_for(one, min(clock.end_ns, hung_ns(one, scene)), scene)
        return [Charge(Outcome.WRONG, names(met)), *([found] if found else [])]
    return [found] if found else []


def _of_time(one: Asked, said: Reply, clock: Clock, scene: Scene) -> Charge | None:
    if not clock.hung and _is_unaffected(said, clock, scene):
        return None
    if said is Reply.OPEN and not clock.hung:
        return Charge(Outcome.UNKNOWN, clock.blamed)
    caught = _guards_in_budget(one, scene, clock) if said in (Reply.RIGHT, Reply.HONEST) else ()
    if not caught and said is Reply.HONEST and not _overran(one, clock, scene):
        caught = (REPLY,)
    if caught:
        return Charge(Outcome.CAUGHT, clock.blamed, caught)
    return _told(one, scene, clock) if _overran(one, clock, scene) else None


def decided_ns(one: Asked, scene: Scene) -> int:
    """When nothing that it could still do would change what became of it."""
    return min(one.end.at_ns if one.end else scene.watched_ns, hung_ns(one, scene))


def _clock(one: Asked, scene: Scene) -> Clock:
    usual = scene.usual(one)
    end_ns = one.end.at_ns if one.end else scene.watched_ns
    due_ns = end_ns
    if usual is not None and usual.end is not None:
        due_ns = one.sent.at_ns + usual.end.at_ns - usual.sent.at_ns
    overdue_ns = due_ns + ns(scene.budgets.delay_s) if is_answered(one) else end_ns
    blamed = blamed_for(one, min(end_ns, overdue_ns, hung_ns(one, scene)), scene)
    near = [each for each in blamed if each.could_touch(one)]
    hurt_ns = max([one.sent.at_ns, *(each.began_ns for each in near[:1])])
    start_ns = max(hurt_ns, min(one.signs_ns[-1], due_ns))
    silence_ns, settle_ns = _longest_silence_ns(one, hurt_ns, end_ns), ns(scene.budgets.settle_s)
    hung = silence_ns > settle_ns or (one.end is None and silence_ns == settle_ns)
    entered_ns = min((each.entered_ns for each in near), default=None)
    return Clock(tuple(blamed), hurt_ns, entered_ns, start_ns, end_ns, due_ns, hung)


def is_answered(one: Asked) -> bool:
    return one.end is not None and one.end.kind is Kind.FINISHED and not is_error(one)


def blamed_for(one: Asked, until_ns: int, scene: Scene) -> list[Window]:
    usual = scene.usual(one)
    late_ns = until_ns
    if usual is not None and usual.end is not None:
        took_ns = usual.end.at_ns - usual.sent.at_ns
        late_ns = one.sent.at_ns + took_ns + ns(scene.budgets.service_s)
    return who_touched(one, late_ns, until_ns, scene.strikes)


def hung_ns(one: Asked, scene: Scene) -> int:
    """When its client had heard nothing for `settle_s`; the end of all, if it never came to it."""
    settle_ns = ns(scene.budgets.settle_s)
    for sign_ns, next_ns in pairwise([*one.signs_ns, one.end.at_ns if one.end else 1 << 62]):
        if next_ns - sign_ns >= settle_ns:
            return sign_ns + settle_ns
    return scene.events[-1].at_ns


def _is_unaffected(said: Reply, clock: Clock, scene: Scene) -> bool:
    in_time = clock.end_ns - clock.due_ns <= ns(scene.budgets.service_s)
    return said is Reply.LEFT or (said is Reply.RIGHT and in_time)


def _overran(one: Asked, clock: Clock, scene: Scene) -> bool:
    """It hung; or its answer came later than is tolerated, or its error later than hung is."""
    if clock.hung or is_answered(one):
        return clock.hung or clock.end_ns - clock.due_ns > ns(scene.budgets.delay_s)
    return clock.end_ns - clock.start_ns > ns(scene.budgets.settle_s)


def _longest_silence_ns(one: Asked, since_ns: int, end_ns: int) -> int:
    signs = [max(sign, since_ns) for sign in one.signs_ns] + [end_ns]
    return max(after - before for before, after in pairwise(signs))


def _guards_in_budget(one: Asked, scene: Scene, clock: Clock) -> tuple[str, ...]:
    """Guards that named this request, and whose budget had not passed when it ended."""
    found: list[str] = []
    for event in one.guards:
        name = str(event.detail.get("guard"))
        budget_s = scene.specification.guards.get(name)
        before_a_token = event.at_ns < one.signs_ns[-1]
        since_ns = clock.hurt_ns if before_a_token else clock.start_ns
        if clock.entered_ns is not None:
            since_ns = max(since_ns, min(clock.entered_ns, event.at_ns))
        if event.at_ns < clock.hurt_ns or budget_s is None:
            continue
        if clock.end_ns - since_ns <= ns(budget_s):
            found.append(name)
    return tuple(dict.fromkeys(found))


def _told(one: Asked, scene: Scene, clock: Clock) -> Charge:
    """By an alert that was written down before; else it is silent."""
    blind = False
    told: list[Firing] = []
    for alert in scene.specification.alerts:
        if scene.control is not None and firings(scene.control, alert):
            continue  # it fires without a fault, too
        blind = blind or not has_samples(scene.events, alert)
        told += [each for each in firings(scene.events, alert) if _tells(each, one, scene, clock)]
    if told:
        first = min(told, key=lambda each: (each.at_ns, each.alert.name))
        return Charge(Outcome.SURFACED, clock.blamed, (first.alert.name,), first.at_ns)
    return Charge(Outcome.UNKNOWN if blind else Outcome.SILENT, clock.blamed)


def _tells(firing: Firing, one: Asked, scene: Scene, clock: Clock) -> bool:
    if clock.strikes and firing.at_ns < clock.strikes[0].began_ns:
        return False  # it was on before anything had been done
    stood_still = clock.hung and one.end is not None
    since_ns = clock.hurt_ns if stood_still else clock.start_ns
    on_meanwhile = firing.over_ns is None or firing.over_ns >= since_ns
    in_time = firing.at_ns <= since_ns + ns(scene.budgets.detect_s)
    before_its_end = firing.at_ns <= clock.end_ns
    return on_meanwhile and in_time and before_its_end and _is_about(firing, one, scene, clock)


def _is_about(firing: Firing, one: Asked, scene: Scene, clock: Clock) -> bool:
    """About a node on which it may have hung; the only one of its role is used by all."""
    if firing.alert.whole_stack or not firing.nodes:
        return True
    return any(
        node in one.nodes or scene.is_alone(node) or _may_have_hung(one, node, clock)
        for node in firing.nodes
    )


def _may_have_hung(one: Asked, node: str, clock: Clock) -> bool:
    """Where it was not seen in a role: on the node of that role that its strike hurts; on any, if
    its strikes are on no node in particular, or on none of that role and it was seen nowhere."""
    if not one.may_have_been_on(node):
        return False
    touching = [each for each in clock.strikes if each.could_touch(one)]
    if not clock.strikes or any(not each.nodes or each.hits(node) for each in touching):
        return True
    hurt = {role_of(each) for strike in touching for each in strike.nodes}
    return bool(touching) and one.nodes == {"router"} and role_of(node) not in hurt
