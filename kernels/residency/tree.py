"""One kernel's IR as a tree: its functions inlined, every operation's home and values known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kernels.ttir import BLOCK, Operation, Region, parse

_PARAMETER = re.compile(r"(%[\w.$-]+): (!tt\.ptr<[^>]*>|[\w.]+)")
DEPTH_MAX = 32  # of calls; Triton has no recursion

READS = frozenset({"tt.load", "tt.atomic_load"})
WRITES = frozenset({"tt.store", "tt.atomic_store"})
BOTH = frozenset({"tt.atomic_rmw", "tt.atomic_cas"})
STRUCTURED = frozenset({"scf.if", "scf.for", "scf.while", "tt.call"})
POLL = "tt.atomic_poll"
_VALUES = {"tt.store": 1, "tt.atomic_store": 1, "tt.atomic_rmw": 1, "tt.atomic_cas": 2, POLL: 1}
ACCESSES = READS | WRITES | BOTH | {POLL}


@dataclass(frozen=True, slots=True)
class Made:
    """Where a value comes from: which operation's (or block's) which value, and in what role."""

    operation: Operation
    place: int
    role: str  # "result", "parameter", "carried", "before", "after", "block", "inner"


@dataclass(slots=True)
class Tree:
    """A kernel: its body, what encloses each operation, and what makes each value."""

    kernel: Operation
    parent: dict[int, Operation] = field(default_factory=dict[int, Operation])
    made: dict[str, Made] = field(default_factory=dict[str, Made])
    jumps: dict[str, list[Operation]] = field(default_factory=dict[str, list[Operation]])

    @property
    def parameters(self) -> list[str]:
        return self.kernel.regions[0].arguments

    @property
    def kinds(self) -> dict[str, str]:
        """The parameters' types."""
        found = dict(_PARAMETER.findall(self.kernel.text))
        return {name: found.get(name.partition("@")[0], "") for name in self.parameters}

    def walk(self) -> Iterator[Operation]:
        return self.kernel.regions[0].walk()

    def enclosing(self, operation: Operation) -> Iterator[Operation]:
        """What it stands in, innermost first."""
        above = self.parent.get(id(operation))
        while above is not None:
            yield above
            above = self.parent.get(id(above))


def values_of(access: Operation) -> list[str]:
    """What it stores, adds, or compares with."""
    return access.operands[1 : 1 + _VALUES.get(access.name, 0)]


def mask_of(access: Operation) -> list[str]:
    """Its mask, and what a masked load gives instead; as far as it has them."""
    behind = access.operands[1 + _VALUES.get(access.name, 0) :]
    return [] if access.name in {"tt.atomic_cas", POLL} else behind


def tree_of(ttir: str) -> Tree:
    """ValueError if the text holds no kernel."""
    functions = {_symbol(each): each for each in parse(ttir).walk() if each.name == "tt.func"}
    public = [each for each in functions.values() if " public " in each.text.partition("@")[0]]
    if not public:
        raise ValueError("the IR has no public function")
    kernel = public[0]
    _Inliner(functions).into(kernel.regions[0], 0)
    tree = Tree(kernel)
    _note(tree, kernel)
    return tree


def _symbol(operation: Operation) -> str:
    found = re.search(r"@([\w.$-]+|\"[^\"]+\")", operation.text)
    return found[1] if found else ""


def short_name(value: str) -> str:
    """`%counter@12` as its source has it."""
    return value.partition("@")[0].removeprefix("%")


@dataclass(slots=True)
class _Inliner:
    functions: dict[str, Operation]
    _calls: int = 0

    def into(self, region: Region, depth: int) -> None:
        """Give every call the body of what it calls, with names of its own."""
        for operation in region.operations:
            for inner in operation.regions:
                self.into(inner, depth)
            if operation.name != "tt.call" or operation.regions:
                continue
            called = self.functions.get(_symbol(operation))
            if called is None or depth >= DEPTH_MAX:
                continue  # what it does stays unknown
            self._calls += 1
            body = _renamed(called.regions[0], f"~{self._calls}")
            operation.regions.append(body)
            self.into(body, depth + 1)


def _renamed(region: Region, suffix: str) -> Region:
    return Region(
        [name + suffix for name in region.arguments],
        [
            Operation(
                each.name,
                [name + suffix for name in each.results],
                [name + suffix for name in each.operands],
                each.text,
                each.place,
                [(into + suffix, of + suffix) for into, of in each.carried],
                [_renamed(inner, suffix) for inner in each.regions],
            )
            for each in region.operations
        ],
    )


def _note(tree: Tree, above: Operation) -> None:
    for number, region in enumerate(above.regions):
        role = _role(above, number)
        for place, name in enumerate(region.arguments):
            tree.made[name] = Made(above, place, role)
        for operation in region.operations:
            tree.parent[id(operation)] = above
            role_of = "block" if operation.name == BLOCK else "result"
            for place, name in enumerate(operation.results):
                tree.made[name] = Made(operation, place, role_of)
            for place, (name, _) in enumerate(operation.carried):
                tree.made[name] = Made(operation, place, "carried")
            if operation.name.startswith("cf."):
                for label in re.findall(r"\^(\w+)", operation.text):
                    tree.jumps.setdefault(f"{id(above)}/{label}", []).append(operation)
            _note(tree, operation)


def _role(above: Operation, number: int) -> str:
    if above.name == "scf.while":
        return "before" if number == 0 else "after"
    return {"tt.func": "parameter", "tt.call": "parameter"}.get(above.name, "inner")


def jump_operands(operation: Operation) -> dict[str, list[str]]:
    """Of a `cf` branch: which values each target block gets."""
    found: dict[str, list[str]] = {}
    rest = operation.operands[1:] if operation.name == "cf.cond_br" else list(operation.operands)
    for label, passed in re.findall(r"\^(\w+)(?:\(([^)]*)\))?", operation.text):
        count = passed.partition(":")[0].count("%")
        found[label], rest = rest[:count], rest[count:]
    return found
