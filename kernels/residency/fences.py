"""What sequential consistency hides, where it can be named: store buffering, and loads that the
compiler may take out of a loop; and tensors whose elements meet other CTAs in any order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from kernels.residency.instructions import Access
from kernels.residency.machine import Machine
from kernels.residency.states import Graph


def reservations(machine: Machine, graphs: Sequence[Graph]) -> list[str]:
    """Why a claim must not be made about CTAs that can do this together; none: it may."""
    found: list[str] = []
    for graph in graphs:
        stops = _stops(graph)
        found += hoisted(machine, stops, graph.written)
        found += _torn(machine, graph, stops)
        found += _buffered(machine, graph)
    return list(dict.fromkeys(found))


def _stops(graph: Graph) -> set[int]:
    return {stop for state in graph.states for stop, _ in state.residents}


def hoisted(machine: Machine, stops: Iterable[int], written: set[int]) -> list[str]:
    """Loads at these stops that the compiler may take out of their loop, of cells that change."""
    return [
        f"a plain load at {access.place} is read again in a loop while others write: the compiler "
        "may read it once, or never"
        for stop in stops
        if (access := machine.access(stop)) is not None
        and access.kind == "load"
        and access.order == "plain"
        and machine.stops[stop].at in machine.program.in_loop
        and machine.stops[stop].slot in written
    ]


def _torn(machine: Machine, graph: Graph, stops: set[int]) -> list[str]:
    """One access, more than one cell that others touch: in which order is the hardware's choice."""
    cells: defaultdict[int, set[int]] = defaultdict(set)
    for stop in stops:
        access = machine.access(stop)
        if access is not None and access.count > 1 and machine.stops[stop].slot in graph.written:
            cells[machine.stops[stop].at].add(machine.stops[stop].slot)
    return [
        f"the elements of the access at {_access(machine, at).place} meet other CTAs in an order "
        "that is not known"
        for at, slots in cells.items()
        if len(slots) > 1
    ]


def _access(machine: Machine, at: int) -> Access:
    access = machine.program.instructions[at]
    assert isinstance(access, Access)
    return access


def _buffered(machine: Machine, graph: Graph) -> list[str]:
    """A write of one cell, then a read of another, and somebody who does it the other way round.

    Read-modify-writes that acquire and release cannot both miss each other; all others can.
    """
    pairs = _write_then_read(machine, graph)
    found: list[str] = []
    for (written, read), (strong, place) in pairs.items():
        other = pairs.get((read, written))
        if other is not None and written < read and not (strong and other[0]):
            names = machine.memory.names
            found.append(
                f"store buffering at {place} and {other[1]}: one CTA writes {names[written]} and "
                f"reads {names[read]}, one writes {names[read]} and reads {names[written]}; "
                "without a fence both may miss the other's write"
            )
    return found


def _write_then_read(machine: Machine, graph: Graph) -> dict[tuple[int, int], tuple[bool, str]]:
    """(written, read) cells, in program order, to whether both accesses were strong, and where."""
    pairs: dict[tuple[int, int], tuple[bool, str]] = {}
    for stop, before in _written_before(machine, graph).items():
        access = machine.access(stop)
        if access is None or access.kind == "store":
            continue
        slot = machine.stops[stop].slot
        for cell, strong in before:
            held = pairs.get((cell, slot))
            if cell != slot:
                both = strong and _strong(access) and (held is None or held[0])
                pairs[cell, slot] = (both, access.place)
    return pairs


def _written_before(machine: Machine, graph: Graph) -> dict[int, set[tuple[int, bool]]]:
    """By stop: the cells that a CTA which is there may have written, and whether strongly."""
    follows: defaultdict[int, set[int]] = defaultdict(set)
    for state, edges in zip(graph.states, graph.edges, strict=True):
        for edge in edges:
            follows[edge.stop].add(graph.take(state.cells, edge.stop)[0])
    written: dict[int, set[tuple[int, bool]]] = {}
    pending = list(follows)
    while pending:
        stop = pending.pop()
        after = written.setdefault(stop, set()) | _writes(machine, graph, stop)
        for to in follows[stop]:
            if not after <= written.setdefault(to, set()):
                written[to] |= after
                pending.append(to)
    return written


def _writes(machine: Machine, graph: Graph, stop: int) -> set[tuple[int, bool]]:
    access = machine.access(stop)
    if access is None or access.kind in {"load", "poll"}:
        return set()
    slot = machine.stops[stop].slot
    return {(slot, _strong(access))} if slot in graph.written else set()


def _strong(access: Access) -> bool:
    return access.kind in {"rmw", "cas"} and access.order == "acq_rel"
