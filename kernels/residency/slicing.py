"""What of a kernel a wait can depend on; all the rest is left out of the program.

Kept are the accesses by which CTAs can see each other decide something: a read on which a branch
or an address depends, every write that such a read may meet, and what those are computed from. A
loop that only computes is left out when it is certain to end. Which tensors an address may point
into follows from the arguments it is made of; where that cannot be told, it is every tensor.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kernels.residency.tree import (
    ACCESSES,
    BOTH,
    POLL,
    READS,
    STRUCTURED,
    WRITES,
    Made,
    Tree,
    jump_operands,
    mask_of,
)
from kernels.ttir import Operation

ANYWHERE = frozenset({"*"})  # an address of unknown origin
_ALWAYS = frozenset({"scf.while", "cf.cond_br", POLL})  # they may never end, or decide what does
ASSEMBLY = "tt.elementwise_inline_asm"


@dataclass(slots=True)
class Slice:
    """Of a tree: the operations that are kept, the values that are needed."""

    tree: Tree
    kept: set[int] = field(default_factory=set[int])
    probed: set[int] = field(default_factory=set[int])  # accesses of which the address is kept
    hidden: list[str] = field(default_factory=list[str])  # places of accesses that cannot be
    needed: set[str] = field(default_factory=set[str])
    bases: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    written: frozenset[str] = frozenset()  # the tensors that a kept operation may change

    def keeps(self, operation: Operation) -> bool:
        return id(operation) in self.kept

    def may_change(self, operation: Operation) -> bool:
        """Whether what it accesses may be changed by any CTA of the launch."""
        return _meet(self.base_of(operation), self.written)

    def base_of(self, access: Operation) -> frozenset[str]:
        return self.bases.get(access.operands[0], frozenset()) or ANYWHERE

    # ---- the closure ----

    def need(self, *values: str) -> None:
        pending = [value for value in values if value not in self.needed]
        while pending:
            value = pending.pop()
            if value in self.needed:
                continue
            self.needed.add(value)
            made = self.tree.made.get(value)
            if made is not None:
                pending += self._sources(made)

    def keep(self, operation: Operation) -> None:
        """Keep it, what it takes, and whatever decides whether it is reached."""
        if self.keeps(operation):
            return
        self.kept.add(id(operation))
        self.need(*_taken(operation))
        for above in self.tree.enclosing(operation):
            self.keep(above)

    def _sources(self, made: Made) -> list[str]:
        operation, place = made.operation, made.place
        if made.role == "parameter":
            return operation.operands[place : place + 1] if operation.name == "tt.call" else []
        self.keep(operation)
        if made.role == "block":
            return self.jumped(operation, place)
        return _through(operation, place, made.role)

    def jumped(self, block: Operation, place: int) -> list[str]:
        """What the jumps to a block pass as this argument."""
        above = self.tree.parent[id(block)]
        jumps = self.tree.jumps.get(f"{id(above)}/{block.text}", [])
        return [jump_operands(jump)[block.text][place] for jump in jumps]


def sliced(tree: Tree, *, whole: bool = False, bounds: bool = False) -> Slice:
    """The smallest closed slice that holds every loop that might not end; or all accesses, or where
    all of them go."""
    found = Slice(tree)
    _trace_bases(found)
    _keep_what_may_not_end(found)
    accesses = [each for each in tree.walk() if each.name in ACCESSES]
    for each in accesses if whole else ():
        found.keep(each)
    for each in accesses if bounds else ():
        _probe(found, each)
    before = -1
    while len(found.kept) != before:
        before = len(found.kept)
        read = (found.base_of(each) for each in accesses if _is_seen(found, each))
        seen = frozenset[str]().union(*read)
        for each in accesses:
            if changes(found, each) and _meet(found.base_of(each), seen):
                found.keep(each)
    written = (each for each in accesses if found.keeps(each) and changes(found, each))
    found.written = frozenset[str]().union(*(found.base_of(each) for each in written))
    return found


def _probe(found: Slice, access: Operation) -> None:
    above = list(found.tree.enclosing(access))
    if any(each.name not in STRUCTURED and each.name != "tt.func" for each in above):
        found.hidden.append(access.place)
        return
    found.probed.add(id(access))
    found.need(access.operands[0], *mask_of(access)[:1])
    for each in above:
        found.keep(each)


def _keep_what_may_not_end(found: Slice) -> None:
    for operation in found.tree.walk():
        if operation.name in _ALWAYS or blocks(operation):
            found.keep(operation)
        elif may_not_end(found.tree, operation):
            found.need(*operation.operands[1:3])  # checked where it is left out
            for above in found.tree.enclosing(operation):
                found.keep(above)


def may_not_end(tree: Tree, operation: Operation) -> bool:
    """A counted loop whose step is not 1: it may not be positive, or carry the count beyond its
    type."""
    if operation.name != "scf.for":
        return False
    step = tree.made.get(operation.operands[2])
    return step is None or re.search(r"arith\.constant 1 :", step.operation.text) is None


def blocks(operation: Operation) -> bool:
    """Inline assembly that may branch, or see memory: nobody knows whether it ends."""
    impure = "pure = false" in operation.text or "bra" in operation.text or "brx" in operation.text
    unknown_call = operation.name == "tt.call" and not operation.regions
    return unknown_call or (operation.name == ASSEMBLY and impure)


def changes(found: Slice, access: Operation) -> bool:
    """Whether it may change memory; adding a constant nothing is how kernels read."""
    if access.name == "tt.atomic_rmw" and any(
        f"tt.atomic_rmw {kind}," in access.text for kind in ("add", "or", "xor")
    ):
        made = found.tree.made.get(access.operands[1])
        text = made.operation.text if made else ""
        return not any(
            f"arith.constant {zero}" in text for zero in ("0 :", "dense<0> :", "false", "dense<f")
        )
    return access.name in WRITES | BOTH


def _is_seen(found: Slice, access: Operation) -> bool:
    reads = access.name in READS | BOTH | {POLL}
    return reads and any(result in found.needed for result in access.results)


def _meet(some: frozenset[str], others: frozenset[str]) -> bool:
    if not some or not others:
        return False
    return some == ANYWHERE or others >= ANYWHERE or some >= ANYWHERE or bool(some & others)


def _taken(operation: Operation) -> list[str]:
    """The operands without which an operation that is kept cannot be run."""
    if operation.name == "scf.if":
        return operation.operands[:1]
    if operation.name == "scf.for":
        return operation.operands[:3]
    if operation.name == "scf.while":
        condition = operation.regions[0].terminator
        return condition.operands[:1] if condition else []
    if operation.name == "cf.cond_br":
        return operation.operands[:1]
    if operation.name in {"tt.call", "tt.func"} and operation.regions:
        return []
    return operation.operands


def _through(operation: Operation, place: int, role: str) -> list[str]:
    """What a value of a structured operation is passed on from."""
    ends = [region.terminator for region in operation.regions]
    passed = [end.operands if end else [] for end in ends]
    if operation.name == "scf.if":
        return [operands[place] for operands in passed if place < len(operands)]
    if operation.name == "scf.for":
        if role == "result":
            return [operation.carried[place + 1][0]]
        # The first that is carried is the loop's own count.
        return [operation.carried[place][1], passed[0][place - 1]] if place else []
    if operation.name == "scf.while" and role == "carried":
        return [operation.carried[place][1], passed[1][place]]
    if operation.name == "scf.while":
        return [passed[0][place + 1]]
    returns = [end for region in operation.regions for end in region.operations]
    return [end.operands[place] for end in returns
            if operation.name == "tt.call" and end.name == "tt.return"]  # fmt: skip


def _trace_bases(found: Slice) -> None:
    """For every value, which pointer arguments it may be made of; until nothing is added."""
    tree = found.tree
    for name in tree.parameters:
        if f"{name.partition('@')[0]}: !tt.ptr<" in tree.kernel.text:
            found.bases[name] = frozenset({name})
    changed = True
    while changed:
        changed = False
        for value, made in tree.made.items():
            sources = _value_sources(found, made)
            union = frozenset[str]().union(*(found.bases.get(each, ()) for each in sources))
            if not union <= found.bases.get(value, frozenset()):
                found.bases[value] = union | found.bases.get(value, frozenset())
                changed = True


def _value_sources(found: Slice, made: Made) -> list[str]:
    operation = made.operation
    if made.role == "parameter":
        return (
            operation.operands[made.place : made.place + 1] if operation.name == "tt.call" else []
        )
    if made.role == "block":
        return found.jumped(operation, made.place)
    structured = _through(operation, made.place, made.role)
    if structured or operation.name.startswith("scf."):
        return structured
    if operation.name in ACCESSES:
        return []  # a loaded address points anywhere
    return operation.operands
