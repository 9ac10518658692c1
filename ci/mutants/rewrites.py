"""The small changes that turn one expression or one statement of Python into a wrong one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

# (kind, the node that is replaced, the text that stands there instead)
Rewrite = tuple[str, ast.expr | ast.stmt, str]

BOUNDS: Mapping[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
}
SIGNS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any"}


def expressions(node: ast.expr, members: Mapping[str, tuple[str, ...]]) -> Iterator[Rewrite]:
    """`members`: each enumeration's members, in their order."""
    match node:
        case ast.Compare(ops=ops):
            yield from _bounds(node, ops)
        case ast.BoolOp():
            other = " or " if isinstance(node.op, ast.And) else " and "
            yield "and/or", node, other.join(_inside(value) for value in node.values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "dropped not", node, _inside(operand)
        case ast.Constant(value=value):
            yield from _constant(node, value)
        case ast.Call(func=ast.Name(id=name)) if name in SWAPPED:
            yield "min/max", node, SWAPPED[name] + ast.unparse(node)[len(name) :]
        case ast.IfExp(body=body, orelse=orelse):
            yield "dropped branch", node, _inside(orelse)
            yield "dropped branch", node, _inside(body)
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if attr in members.get(name, ()):
            yield "swapped member", node, f"{name}.{_next(members[name], attr)}"
        case _:
            pass


def statements(node: ast.stmt) -> Iterator[Rewrite]:
    match node:
        case ast.If(test=test):
            yield "dropped branch", test, "False"
        case ast.Return(value=value) if isinstance(value, ast.Tuple | ast.List | ast.GeneratorExp):
            yield "empty return", node, "return ()"
        case ast.Return(value=ast.Call(func=ast.Name(id="tuple"))):
            yield "empty return", node, "return ()"
        case ast.Expr(value=value) if not _says_nothing(value):
            yield "dropped line", node, "pass"
        case ast.AugAssign() | ast.Continue() | ast.Break():
            yield "dropped line", node, "pass"
        case _:
            pass


def _constant(node: ast.Constant, value: object) -> Iterator[Rewrite]:
    if isinstance(value, bool):
        yield "constant", node, str(not value)
    elif isinstance(value, int) and value in {0, 1}:
        yield "constant", node, str(1 - value)


def _bounds(node: ast.Compare, ops: list[ast.cmpop]) -> Iterator[Rewrite]:
    for index, op in enumerate(ops):
        for sign in BOUNDS[type(op)]:
            text = _inside(node.left)
            for place, (each, right) in enumerate(zip(ops, node.comparators, strict=True)):
                chosen = sign if place == index else SIGNS[type(each)]
                text += f" {chosen} {_inside(right)}"
            yield "a bound", node, text


def _inside(node: ast.expr) -> str:
    return (
        f"({ast.unparse(node)})" if isinstance(node, ast.BoolOp | ast.IfExp) else ast.unparse(node)
    )


def _next(members: tuple[str, ...], name: str) -> str:
    return members[(members.index(name) + 1) % len(members)]


def _says_nothing(value: ast.expr) -> bool:
    """A docstring, or the `...` of a protocol."""
    return isinstance(value, ast.Constant) and (value.value is ... or isinstance(value.value, str))
