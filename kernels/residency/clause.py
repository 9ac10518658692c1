"""What a stuck line of source waits for: the loop's condition, and the number it compares with."""

from __future__ import annotations

import ast
import linecache
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from kernels import interpreter

# What ends a loop, by its comparison and by whether the side that stays is the left one.
_UNTIL: defaultdict[tuple[type[ast.cmpop], bool], str] = defaultdict(
    lambda: "a change of its comparison with {}",
    {
        (ast.Lt, False): "{} or more",
        (ast.LtE, False): "more than {}",
        (ast.Gt, False): "{} or less",
        (ast.GtE, False): "less than {}",
        (ast.Lt, True): "{} or less",
        (ast.LtE, True): "less than {}",
        (ast.Gt, True): "{} or more",
        (ast.GtE, True): "more than {}",
        (ast.Eq, False): "anything but {}",
        (ast.Eq, True): "anything but {}",
        (ast.NotEq, False): "{}",
        (ast.NotEq, True): "{}",
    },
)


def source_of(frame: FrameType) -> str:
    """The line, or the whole condition when the line is only a part of a loop's."""
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()


def target_of(frame: FrameType) -> str:
    """`target = 64 or more`: the side of the innermost loop's comparison that stays the same."""
    loop = _innermost_while(frame.f_code.co_filename, frame.f_lineno)
    if loop is None:
        return ""
    changed = {
        node.id
        for node in ast.walk(loop)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for compare in (node for node in ast.walk(loop.test) if isinstance(node, ast.Compare)):
        sides = {True: compare.left, False: compare.comparators[0]}
        for on_left, side in sides.items():
            if not _moves(side, changed) and _moves(sides[not on_left], changed):
                return _UNTIL[type(compare.ops[0]), on_left].format(_valued(side, frame))
    return ""


def _moves(side: ast.expr, changed: set[str]) -> bool:
    return any(
        isinstance(node, ast.Call) or (isinstance(node, ast.Name) and node.id in changed)
        for node in ast.walk(side)
    )


def _valued(side: ast.expr, frame: FrameType) -> str:
    text = ast.unparse(side)
    if isinstance(side, ast.Constant):
        return text
    if isinstance(side, ast.Name):
        found = frame.f_locals.get(side.id, frame.f_globals.get(side.id))
        return f"{text} = {scalar(found)}"
    known = [
        f"{node.id} = {scalar(frame.f_locals[node.id])}"
        for node in ast.walk(side)
        if isinstance(node, ast.Name) and node.id in frame.f_locals
    ]
    return f"{text} ({', '.join(known)})" if known else text


def scalar(value: Any) -> str:  # noqa: ANN401 - whatever a kernel's local may hold
    language = interpreter.language
    if isinstance(value, language.tensor):
        data = value.handle.data
        return str(data.item()) if data.size == 1 else f"{data.size} values"
    if isinstance(value, language.constexpr):
        return scalar(value.value)
    return repr(value)


@cache
def _loops(path: str) -> tuple[ast.While, ...]:
    try:
        tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    except (OSError, SyntaxError):  # built in memory, or edited while it ran
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.While))


def _innermost_while(path: str, line: int) -> ast.While | None:
    around = [loop for loop in _loops(path) if loop.lineno <= line <= (loop.end_lineno or 0)]
    return max(around, key=lambda loop: loop.lineno, default=None)
