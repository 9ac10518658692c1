"""A kernel as a flat program: instructions, jumps, and the accesses to memory in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kernels.residency.instructions import (
    Access,
    Blocked,
    Branch,
    Compute,
    End,
    Guard,
    Instruction,
    Jump,
    Move,
    Probe,
    in_loops,
    liveness,
)
from kernels.residency.pure import evaluator
from kernels.residency.scalar import Scalar, Unknown, bits_of, unsigned, whole, wrap
from kernels.residency.shaped import Evaluator, Value, lifted, parse_type, signature
from kernels.residency.slicing import Slice, blocks, may_not_end, sliced
from kernels.residency.tree import (
    ACCESSES,
    STRUCTURED,
    Tree,
    jump_operands,
    mask_of,
    tree_of,
    values_of,
)
from kernels.ttir import BLOCK, Operation, Region

_OF_THE_GRID = {"tt.get_program_id": "cta", "tt.get_num_programs": "grid"}
_TERMINATORS = frozenset({"scf.yield", "scf.condition", "tt.return"})


@dataclass(slots=True)
class Program:
    """The instructions, and at each the values that are still needed there."""

    instructions: list[Instruction]
    parameters: list[str]
    kinds: dict[str, str]  # of the parameters: "i32", "f32", a pointer
    constants: dict[str, Value]
    live: list[tuple[str, ...]]  # all but what every CTA has alike
    in_loop: frozenset[int]  # instructions that can follow themselves
    hidden: list[str]  # places of accesses that cannot be probed

    @property
    def accesses(self) -> list[Access]:
        return [each for each in self.instructions if isinstance(each, Access)]


def program_of(ttir: str, *, all_accesses: bool = False, bounds: bool = False) -> Program:
    """The program of a kernel's IR, reduced to what a wait can depend on; or all its accesses, or
    in addition where they go."""
    tree = tree_of(ttir)
    kept = sliced(tree, whole=all_accesses, bounds=bounds)
    writer = _Writer(tree, kept)
    writer.body(tree.kernel.regions[0], tree.kernel)
    writer.emit(End())
    instructions = writer.finished()
    alike = {*tree.parameters, "grid.x", "grid.y", "grid.z", *writer.constants}
    live = [tuple(sorted(names - alike)) for names in liveness(instructions)]
    loops = in_loops(instructions)
    return Program(
        instructions, tree.parameters, tree.kinds, writer.constants, live, loops, kept.hidden
    )


Late = Callable[[], Instruction]


@dataclass(slots=True)
class _Writer:
    tree: Tree
    kept: Slice
    code: list[Instruction | Late] = field(default_factory=list[Instruction | Late])
    blocks: dict[str, int] = field(default_factory=dict[str, int])
    ends: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    constants: dict[str, Value] = field(default_factory=dict[str, Value])

    def emit(self, instruction: Instruction | Late) -> int:
        self.code.append(instruction)
        return len(self.code) - 1

    def finished(self) -> list[Instruction]:
        return [each() if callable(each) else each for each in self.code]

    def body(self, region: Region, above: Operation) -> None:
        for operation in region.operations:
            if operation.name == BLOCK:
                self.blocks[f"{id(above)}/{operation.text}"] = len(self.code)
            elif operation.name.startswith("cf."):
                self._jump(operation, above)
            elif operation.name == "tt.return":
                self._leave(operation, above)
            elif operation.name not in _TERMINATORS and self.kept.keeps(operation):
                self._operation(operation)
            elif id(operation) in self.kept.probed:
                self.emit(_probe(operation))
            elif may_not_end(self.tree, operation) and operation.operands[2] in self.kept.needed:
                self._guard(operation)

    def _guard(self, operation: Operation) -> None:
        bits, is_signed = _count_of(operation)
        highest = (1 << bits - is_signed) - 1
        self.emit(Guard(operation.operands[1], operation.operands[2], highest, operation.place))

    def _operation(self, operation: Operation) -> None:
        if blocks(operation):
            self.emit(Blocked("inline assembly or a call that may wait", operation.place))
        elif operation.name in STRUCTURED:
            {"scf.if": self._if, "scf.for": self._for, "scf.while": self._while,
             "tt.call": self._call}[operation.name](operation)  # fmt: skip
        elif operation.name in ACCESSES:
            self.emit(_access(operation, shared=self.kept.may_change(operation)))
        elif any(self.kept.keeps(inner) and inner.name in ACCESSES
                 for region in operation.regions for inner in region.walk()):  # fmt: skip
            self.emit(Blocked(f"memory is accessed inside {operation.name}", operation.place))
        else:
            self._compute(operation)

    def _compute(self, operation: Operation) -> None:
        evaluate = evaluator(operation)
        operands = tuple(operation.operands)
        if operation.name in _OF_THE_GRID:
            axis = operation.text.partition(" : ")[0].rstrip()[-1]
            operands = (f"{_OF_THE_GRID[operation.name]}.{axis}",)
        for result in operation.results:
            if result in self.kept.needed and operands:
                self.emit(Compute(result, evaluate, operands))
            elif result in self.kept.needed:
                self.constants[result] = evaluate(())

    def _move(self, into: list[str], of: list[str]) -> None:
        pairs = [(a, b) for a, b in zip(into, of, strict=False) if a in self.kept.needed]
        if pairs:
            self.emit(Move(tuple(a for a, _ in pairs), tuple(b for _, b in pairs)))

    def _if(self, operation: Operation) -> None:
        branch = self.emit(End())
        ends: list[int] = []
        starts: list[int] = []
        for region in operation.regions:
            starts.append(len(self.code))
            self.body(region, operation)
            if region.terminator is not None:
                self._move(operation.results, region.terminator.operands)
            ends.append(self.emit(End()))
        after = len(self.code)
        for end in ends:
            self.code[end] = Jump(after)
        no = starts[1] if len(starts) > 1 else after
        self.code[branch] = Branch(operation.operands[0], starts[0], no, operation.place)

    def _for(self, operation: Operation) -> None:
        low, high, step = operation.operands[:3]
        count = operation.carried[0][0]
        into = [name for name, _ in operation.carried]
        bits, is_signed = _count_of(operation)
        end = operation.regions[0].terminator
        self.emit(Move((count,), (low,)))
        self._move(into[1:], [first for _, first in operation.carried[1:]])
        head = len(self.code)
        test = f"{count}<"
        less = _made("arith.cmpi", f"arith.cmpi {'slt' if is_signed else 'ult'}, : i{bits}")
        self.emit(Compute(test, less, (count, high)))
        branch = self.emit(End())
        self.body(operation.regions[0], operation)
        if end is not None:
            self._move(into[1:], end.operands)
        self.emit(Compute(count, _counted_on(bits, is_signed=is_signed), (count, step)))
        self.emit(Jump(head))
        self.code[branch] = Branch(test, branch + 1, len(self.code), operation.place)
        self._move(operation.results, into[1:])

    def _while(self, operation: Operation) -> None:
        before, after = operation.regions
        condition, turned = before.terminator, after.terminator
        into = [name for name, _ in operation.carried]
        self._move(into, [first for _, first in operation.carried])
        head = len(self.code)
        self.body(before, operation)
        assert condition is not None
        branch = self.emit(End())
        self._move(after.arguments, condition.operands[1:])
        self.body(after, operation)
        if turned is not None:
            self._move(into, turned.operands)
        self.emit(Jump(head))
        place = condition.place or operation.place
        self.code[branch] = Branch(condition.operands[0], branch + 1, len(self.code), place)
        self._move(operation.results, condition.operands[1:])

    def _call(self, operation: Operation) -> None:
        region = operation.regions[0]
        self._move(region.arguments, operation.operands)
        self.body(region, operation)
        for end in self.ends.pop(id(operation), []):
            self.code[end] = Jump(len(self.code))

    def _leave(self, operation: Operation, above: Operation) -> None:
        """A return: of the kernel, or of a function that was inlined."""
        if above.name == "tt.call":
            self._move(above.results, operation.operands)
            self.ends.setdefault(id(above), []).append(self.emit(End()))
        else:
            self.emit(End())

    def _jump(self, operation: Operation, above: Operation) -> None:
        passed = jump_operands(operation)
        stubs: list[int] = []
        branch = self.emit(End()) if operation.name == "cf.cond_br" else None
        for label, operands in passed.items():
            key = f"{id(above)}/{label}"
            stubs.append(len(self.code))
            self._move(_block_arguments(above, label), operands)
            self.emit(lambda key=key: Jump(self.blocks[key]))
        if branch is not None:
            no = stubs[-1]
            self.code[branch] = Branch(operation.operands[0], stubs[0], no, operation.place)


def _block_arguments(above: Operation, label: str) -> list[str]:
    for region in above.regions:
        for operation in region.operations:
            if operation.name == BLOCK and operation.text == label:
                return operation.results
    raise ValueError(f"no block {label}")


def _count_of(loop: Operation) -> tuple[int, bool]:
    """The width of a counted loop's count, and whether it has a sign."""
    kind = signature(loop.text.partition("{")[0].rstrip())[-1].element
    return bits_of(kind), "unsigned" not in loop.text.partition(" to ")[0]


def _counted_on(bits: int, *, is_signed: bool) -> Evaluator:
    """The next count of a loop. What is beyond its type is left open by the compiler."""

    def added(a: int, b: int) -> Scalar:
        plain = a + b if is_signed else unsigned(a, bits) + unsigned(b, bits)
        if plain >= 1 << bits - is_signed:
            return Unknown("a counted loop whose count may wrap")
        return wrap(plain, bits)

    add = whole(added)
    return lambda operands: lifted(add, *operands)


def _made(name: str, text: str) -> Evaluator:
    return evaluator(Operation(name, [], [], text))


_ORDERS = ("acq_rel", "acquire", "release", "relaxed")


def _access(operation: Operation, *, shared: bool) -> Access:
    kind = operation.name.removeprefix("tt.").removeprefix("atomic_")
    words = operation.text.split(operation.name, 1)[1].split("%")[0].replace(",", " ").split()
    order = next((word for word in words if word in _ORDERS), "plain")
    if "isVolatile = true" in operation.text:
        order = "volatile"
    rest = mask_of(operation)
    pointer = signature(operation.text)[0]
    return Access(
        kind, words[0] if kind == "rmw" else "", order, operation.operands[0],
        tuple(values_of(operation)), rest[0] if rest else None,
        rest[1] if len(rest) > 1 else None, operation.results[0] if operation.results else None,
        parse_type(pointer.pointed), pointer.count, shared, " timeout " in operation.text,
        operation.place,
    )  # fmt: skip


def _probe(operation: Operation) -> Probe:
    pointer, mask = signature(operation.text)[0], mask_of(operation)[:1]
    return Probe(operation.operands[0], mask[0] if mask else None, parse_type(pointer.pointed),
                 pointer.count, operation.place)  # fmt: skip
