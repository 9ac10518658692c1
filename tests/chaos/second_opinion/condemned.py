"""False alarms: a guard or a health page that condemned what was making progress."""

from __future__ import annotations

from collections.abc import Sequence

from chaos.actor import SIGNAL
from chaos.clock import ns
from chaos.event import Event, Kind
from chaos.stage import Stage
from chaos.verdict import Outcome
from tests.chaos.second_opinion.asked import Asked
from tests.chaos.second_opinion.charge import Charge, names, who_hit
from tests.chaos.second_opinion.reply import is_error
from tests.chaos.second_opinion.request_charge import blamed_for, hung_ns
from tests.chaos.second_opinion.scene import Scene
from tests.chaos.second_opinion.window import NODE, Window

HEALTH_ERROR = 500


def false_alarms(requests: Sequence[Asked], scene: Scene) -> list[Charge]:
    """Those against requests first: they are named before those against nodes and the pages."""
    return [*_of_requests(requests, scene), *_of_nodes(scene), *_pages(scene)]


def _of_requests(requests: Sequence[Asked], scene: Scene) -> list[Charge]:
    found: list[Charge] = []
    for one in requests:
        for guard in one.guards:
            if is_false(guard, one, scene):
                blamed = blamed_for(one, min(guard.at_ns, hung_ns(one, scene)), scene)
                found.append(_charge(blamed, guard))
    return found


def _of_nodes(scene: Scene) -> list[Charge]:
    found: list[Charge] = []
    for event in scene.events:
        is_node = event.kind is Kind.GUARD and NODE.fullmatch(event.about) is not None
        if is_node and _condemned_a_node(event, scene):
            found.append(
                _charge(who_hit(event.about, event.at_ns, event.at_ns, scene.strikes), event)
            )
    return found


def _charge(blamed: Sequence[Window], guard: Event) -> Charge:
    return Charge(Outcome.FALSE_ALARM, names(blamed), (str(guard.detail.get("guard")),))


def is_false(guard: Event, one: Asked, scene: Scene) -> bool:
    """It condemned what moved, or ended what was only slowed, or what nothing had hurt.

    A guard without a time-out of its own only reports what another part of the stack has done; and
    one that named a request which was answered all the same has condemned nobody, where a strike
    elsewhere may have made it wait.
    """
    patience_s = scene.specification.patience.get(str(guard.detail.get("guard")))
    blamed = blamed_for(one, min(guard.at_ns, hung_ns(one, scene)), scene)
    met = [each for each in blamed if each.could_touch(one)]
    failed = one.end is None or one.end.kind is not Kind.FINISHED or is_error(one)
    if failed and met and all(each.spec.alive for each in met):
        return True
    if patience_s is None:
        return False
    if not blamed or not met:
        return failed or not blamed
    stages = [e.at_ns for e in one.stages if e.stage is not Stage.INTAKE]
    moved = [*one.signs_ns, *stages]
    return _is_early(guard, patience_s, moved)


def _is_early(guard: Event, patience_s: float, moved_ns: Sequence[int]) -> bool:
    """Its own clock may have begun before the marks that we see: by half its time, at most."""
    last_ns = max(at for at in moved_ns if at <= guard.at_ns)
    return guard.at_ns - last_ns < ns(patience_s) / 2


def _condemned_a_node(guard: Event, scene: Scene) -> bool:
    """One that was hit by no strike, or one that had worked just before."""
    if not _excused(scene, guard.about, guard.at_ns, also_nowhere=True):
        return True
    patience_s = scene.specification.patience.get(str(guard.detail.get("guard")))
    worked = [e.at_ns for e in scene.events if _is_work(e, guard.about)]
    moved = [scene.events[0].at_ns, *worked]
    return patience_s is not None and _is_early(guard, patience_s, moved)


def _pages(scene: Scene) -> list[Charge]:
    """Two samples in a row that say no, and work on that node between them: once for each page."""
    found: dict[str, Charge] = {}
    before: dict[str, Event] = {}
    for event in scene.events:
        node, _, page = event.about.partition("/")
        if event.actor != SIGNAL or event.kind is not Kind.READING or page != "health":
            continue
        last = before.get(node)
        before[node] = event
        if last is None or not (_says_no(last) and _says_no(event)):
            continue
        worked = any(
            _is_work(e, node) and last.at_ns <= e.at_ns <= event.at_ns for e in scene.events
        )
        if worked and not _excused(scene, node, event.at_ns, also_nowhere=False):
            blamed = who_hit(node, last.at_ns, event.at_ns, scene.strikes)
            found.setdefault(node, Charge(Outcome.FALSE_ALARM, names(blamed)))
    return list(found.values())


def _says_no(event: Event) -> bool:
    value = event.detail.get("value")
    return isinstance(value, int | float) and value >= HEALTH_ERROR


def _is_work(event: Event, node: str) -> bool:
    """To take a request in is no work yet."""
    return event.kind is Kind.STAGE and event.actor == node and event.stage is not Stage.INTAKE


def _excused(scene: Scene, node: str, at_ns: int, *, also_nowhere: bool) -> bool:
    """Struck, or struck so lately that it may still be coming back. `also_nowhere`: a strike on no
    node in particular may be on this one, while it lasts."""
    for each in scene.strikes:
        if each.spec.alive or each.began_ns > at_ns:
            continue
        back_ns = each.healed_ns + ns(scene.budgets.recover_s)
        if each.hits(node) and at_ns < back_ns:
            return True
        if also_nowhere and not each.nodes and at_ns <= each.healed_ns:
            return True
    return False
