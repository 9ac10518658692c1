"""Follows imports, as Python itself would at import time, from some modules to a forbidden one."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source import FOLDERS, Source


def chain_to(forbidden: str, roots: list[str], root: Path) -> list[str]:
    """The shortest chain of modules from one of `roots` to `forbidden`; empty: there is none.

    What stands in a function is imported when that runs, which is a child's business; what stands
    under TYPE_CHECKING never is.
    """
    before: dict[str, str | None] = dict.fromkeys(roots)
    waiting = deque(roots)
    while waiting:
        module = waiting.popleft()
        for imported in imports(module, root):
            if imported.partition(".")[0] == forbidden:
                return [*_way(module, before), imported]
            if imported not in before:
                before[imported] = module
                waiting.append(imported)
    return []


def imports(module: str, root: Path) -> Iterator[str]:
    """Every module that importing this one of ours imports; none for a stranger's."""
    if module.partition(".")[0] not in FOLDERS:
        return
    if "." in module:  # a package's __init__ runs first
        yield module.rpartition(".")[0]
    file = _file(module, root)
    if file is not None:
        yield from _imported(Source(file, root).tree.body)


def _file(module: str, root: Path) -> Path | None:
    place = root.joinpath(*module.split("."))
    candidates = (place.with_suffix(".py"), place / "__init__.py")
    return next((one for one in candidates if one.is_file()), None)


def _imported(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _imported(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _imported(list(_statements(node)))


def _statements(node: ast.stmt) -> Iterator[ast.stmt]:
    """The statements directly inside a class, an if, a try, a with."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler):
            yield from child.body


def _way(module: str | None, before: dict[str, str | None]) -> list[str]:
    way: list[str] = []
    while module is not None:
        way.insert(0, module)
        module = before[module]
    return way
