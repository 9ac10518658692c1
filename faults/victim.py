"""Which node a fault hits: the one it names, or one of the role it names, chosen by the seed."""

from __future__ import annotations

from random import Random

from chaos.contracts import Stack
from chaos.stage import Stage
from chaos.traits import Paced

WORK = {"router": Stage.DISPATCH, "prefill": Stage.PREFILL, "decode": Stage.DECODE}


def choose(stack: Stack, wanted: str, rng: Random) -> str:
    """ "decode-1" is that node; "decode" is one of the decodes. ValueError for neither."""
    names = sorted(node.name for node in stack.nodes)
    if wanted in names:
        return wanted
    return rng.choice(of_role(stack, wanted))


def of_role(stack: Stack, wanted: str) -> list[str]:
    """Every node of that role, or the one node of that name. ValueError for neither."""
    found = sorted(node.name for node in stack.nodes if wanted in (node.name, node.role))
    if not found:
        known = ", ".join(f"{node.name} ({node.role})" for node in stack.nodes)
        raise ValueError(f"no node or role {wanted!r} in this stack; it has {known}")
    return found


def stage_of(wanted: str) -> Stage:
    """The stage in which a node of this name or role does its work."""
    return WORK.get(wanted.partition("-")[0], Stage.LIFECYCLE)


def restart_s(stack: object, own_s: float) -> float:
    """How long a replaced node may take to answer: the fault's own bound, or the stack's."""
    return max(own_s, stack.pace.restart_s) if isinstance(stack, Paced) else own_s
