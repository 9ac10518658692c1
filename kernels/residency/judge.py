"""What follows for a launch: safe in every order and schedule, a deadlock with its witness, or how
far the search came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from kernels.residency.answer import Finding, Verdict, stuck
from kernels.residency.fences import hoisted, reservations
from kernels.residency.machine import Machine
from kernels.residency.parts import Part, parts_of, shares, sums
from kernels.residency.play import Play, fill, played
from kernels.residency.states import Budget, BudgetSpent, Edge, Graph, Rules, State, counted
from kernels.residency.traps import Trap, traps

SETTLING = Budget(turns_max=2_000)  # of a witness, once nothing can end any more
SHUFFLES = 6  # seeded schedules that are tried where not all can be
SMALL = 64  # CTAs of a launch whose states under R are worth exploring


@dataclass(slots=True)
class Launch:
    """One launch: where each of its CTAs begins, in the order of the hardware (x fastest)."""

    machine: Machine
    starts: list[int]
    budget: Budget = field(default_factory=Budget)

    @property
    def ctas(self) -> int:
        return len(self.starts)

    def play(self, room: int) -> Play:
        return Play(self.machine, self.starts, room)


def every_order(launch: Launch, room: int) -> Finding:
    """All launch orders and all schedules, with at most `room` CTAs resident."""
    try:
        parts = parts_of(launch.machine, launch.starts, launch.budget)
    except BudgetSpent:
        return _tried(launch, room)
    graphs = [part.graph for part in parts if len(part.ctas) > 1]
    return _doubted(_by_parts(launch, parts, room), reservations(launch.machine, graphs))


def _doubted(finding: Finding, doubts: Sequence[str]) -> Finding:
    """What speaks against a claim: all of it against one that everything ends."""
    ends = finding.verdict in {Verdict.SAFE, Verdict.ONE_ORDER}
    if doubts and (ends or any("plain load" in each for each in doubts)):
        return Finding(Verdict.NOT_PROVEN, "; ".join(doubts))
    return finding


def _by_parts(launch: Launch, parts: list[Part], room: int) -> Finding:
    caught = any(part.traps for part in parts)
    if not caught and (launch.ctas <= room or not sums(parts) >> room & 1):
        return Finding(Verdict.SAFE, _safe(launch, parts, room))
    found = _staged(launch, parts, room)
    if found is not None:
        return found
    if len(parts) == 1 or launch.ctas <= SMALL:
        return _explored(launch, room)
    return _tried(launch, room)


def _safe(launch: Launch, parts: list[Part], room: int) -> str:
    states = sum(len(part.graph.states) for part in parts)
    looked = f"{states} states of {len(parts)} independent groups of CTAs were explored"
    most = sums(parts).bit_length() - 1
    if not most:
        return f"no CTA waits for one that is not launched, in any launch order; {looked}"
    if launch.ctas <= room:
        return f"all {launch.ctas} CTAs fit into R = {room}, and every schedule ends; {looked}"
    return f"every launch order and schedule ends: at most {most} CTAs wait at once; {looked}"


def _staged(launch: Launch, parts: list[Part], room: int) -> Finding | None:
    """A deadlock that is put together from what the parts can do, and played to be sure."""
    for part in parts:
        for trap in part.traps:
            found = _caught_parts(launch, [(part, trap)], room) if trap.closed else None
            if found is not None:
                rest = "other schedules end" if part.ends else "no schedule of these CTAs ends"
                return _deadlock(found, f"it reaches a state that cannot end; {rest}")
    if launch.ctas <= room:
        return None
    play = launch.play(room)
    ended = played(play, range(launch.ctas), launch.budget)
    if not ended and play.cannot_end():
        return _deadlock(play, "launched in order, it reaches a state that cannot end")
    held = shares(parts, room)
    chosen = [
        (part, next(trap for trap in part.frozen if trap.waiting_min <= share <= trap.waiting_max))
        for part, share in zip(parts, held or (), strict=False)
        if share
    ]
    found = _caught_parts(launch, chosen, room)
    if found is None:
        return None
    rest = "; launched in order and taking turns, it ends" if ended else ""
    return _deadlock(found, f"it can reach a state that cannot end{rest}")


def _caught_parts(launch: Launch, chosen: list[tuple[Part, Trap]], room: int) -> Play | None:
    """Every part led into its trap, and slots that are left taken by CTAs that are caught at once.

    None if that needs more slots on its way than there are, or does not hang after all.
    """
    play = launch.play(room)
    try:
        for part, trap in chosen:
            follow(play, part.ctas, part.graph.path(trap.states[0]))
    except ValueError:
        return None
    if launch.ctas > room:
        for part, trap in chosen:
            _take_slots(play, part, trap)
    return play if chosen and play.cannot_end() else None


def _take_slots(play: Play, part: Part, trap: Trap) -> None:
    state = trap.states[0]
    stays = {edge.stop for edge in part.graph.edges[state] if edge.to == state}
    for cta in part.ctas:
        if len(play.residents) >= play.room:
            return
        if cta not in play.started and play.starts[cta] in stays:
            play.turn(cta)


def follow(play: Play, ctas: Sequence[int], path: Sequence[Edge]) -> None:
    """Let CTAs of a group take the steps of a path; ValueError if there is no slot for one."""
    for edge in path:
        resident = [cta for cta in ctas if play.residents.get(cta) == edge.stop]
        fresh = [cta for cta in ctas if cta not in play.started and play.starts[cta] == edge.stop]
        play.turn((fresh if edge.starts else resident or fresh)[0])


def _deadlock(play: Play, why: str) -> Finding:
    """From a state that cannot end on until nobody can do anything: that is what is shown."""
    if play.can_go_on():
        played(play, play.unstarted, SETTLING)
    doubts = hoisted(play.machine, play.residents.values(), play.written)
    if doubts:
        return Finding(Verdict.NOT_PROVEN, "; ".join(doubts))
    return Finding(Verdict.DEADLOCK, why, tuple(play.turns), stuck(play))


def _explored(launch: Launch, room: int) -> Finding:
    """Every state under R, one by one."""
    rules, first = Rules(room), State((), (), counted(launch.starts))
    if launch.ctas <= room:
        rules, first = Rules(), State((), counted(launch.starts), ())
    graph = Graph(launch.machine, rules)
    try:
        graph.explore(first, launch.budget)
    except BudgetSpent:
        return _tried(launch, room)
    found = traps(graph)
    closed = [trap for trap in found if trap.closed]
    if not found:
        return Finding(
            Verdict.SAFE,
            f"every launch order and schedule ends; {len(graph.states)} states were explored",
        )
    if not closed:
        return _turning(launch, graph, found)
    play = launch.play(room)
    follow(play, range(launch.ctas), graph.path(closed[0].states[0]))
    rest = "other schedules end" if _ends(graph) else "no launch order and no schedule ends"
    return _deadlock(play, f"it reaches a state that cannot end; {rest}")


def _ends(graph: Graph) -> bool:
    return any(graph.final(at) for at in range(len(graph.states)))


def _turning(launch: Launch, graph: Graph, found: Sequence[Trap]) -> Finding:
    places = {
        launch.machine.place(stop)
        for trap in found
        for at in trap.states
        for stop, _ in graph.states[at].residents
    }
    return Finding(
        Verdict.NOT_PROVEN,
        f"a schedule can go on for ever, at {', '.join(sorted(places))}, while others end; "
        f"{len(graph.states)} states were explored",
    )


def _tried(launch: Launch, room: int) -> Finding:
    """Some schedules, where there are too many."""
    finished = 0
    for seed in range(-2, SHUFFLES):
        order = list(range(launch.ctas))
        if seed == -1:
            order.reverse()
        elif seed > 0:
            Random(f"{seed}/launch").shuffle(order)
        play = launch.play(room)
        ended = played(play, order, launch.budget, None if seed < 0 else seed)
        if not ended and play.cannot_end():
            return _deadlock(play, f"with R = {room} it can reach a state that cannot end")
        finished += ended
    return Finding(
        Verdict.NOT_PROVEN,
        f"there are more states than the budget of {launch.budget.states_max}; {finished} of "
        f"{SHUFFLES + 2} schedules that were tried with R = {room} ended",
    )


def given_order(launch: Launch, room: int, order: Sequence[int], name: str) -> Finding:
    """All schedules of one launch order."""
    graph = Graph(launch.machine, Rules(room, tuple(launch.starts[cta] for cta in order)))
    try:
        graph.explore(State((), (), 0), launch.budget)
    except BudgetSpent:
        return _one_schedule(launch, room, order, name)
    doubts = reservations(launch.machine, [graph] if launch.ctas > 1 else [])
    return _doubted(_in_one_order(launch, room, order, name, graph), doubts)


def _in_one_order(
    launch: Launch, room: int, order: Sequence[int], name: str, graph: Graph
) -> Finding:
    found = traps(graph)
    closed = [trap for trap in found if trap.closed]
    if closed:
        play = _led(launch, room, order, graph.path(closed[0].states[0]))
        rest = "other schedules of it end" if _ends(graph) else "no schedule of it ends"
        return _deadlock(play, f"launched {name}, it reaches a state that cannot end; {rest}")
    if found:
        return _turning(launch, graph, found)
    return Finding(
        Verdict.ONE_ORDER,
        f"launched {name}, every schedule ends; {len(graph.states)} states were explored",
    )


def _led(launch: Launch, room: int, order: Sequence[int], path: Sequence[Edge]) -> Play:
    play, queue = launch.play(room), iter(order)
    fill(play, queue)
    for edge in path:
        play.turn(next(cta for cta, stop in play.residents.items() if stop == edge.stop))
        fill(play, queue)
    for cta in list(play.residents):
        play.turn(cta)  # so that the witness names everybody who holds a slot
    return play


def _one_schedule(launch: Launch, room: int, order: Sequence[int], name: str) -> Finding:
    play = launch.play(room)
    if played(play, order, launch.budget):
        return Finding(
            Verdict.ONE_ORDER,
            f"launched {name} and taking turns, it ended after {len(play.turns)} turns; there are "
            "too many schedules to look at all",
        )
    if play.cannot_end():
        return _deadlock(play, f"launched {name}, it reaches a state that cannot end")
    turns = len(play.turns)
    return Finding(Verdict.NOT_PROVEN, f"launched {name}, it did not end in {turns} turns")


def replayed(launch: Launch, room: int, turns: Sequence[int]) -> Finding:
    """Play a witness again. ValueError if a turn of it is impossible."""
    play = launch.play(room)
    for cta in turns:
        play.turn(cta)
    if not play.residents and not play.unstarted:
        return Finding(Verdict.ONE_ORDER, "these turns end the launch")
    cannot = play.cannot_end()
    if cannot:
        return _deadlock(play, "after these turns nothing can end any more")
    why = "too much is left to say" if cannot is None else "after these turns it can still end"
    return Finding(Verdict.NOT_PROVEN, why)
