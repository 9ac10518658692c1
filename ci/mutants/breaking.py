"""Every mutant of a file, in the order of its lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from ci.mutants.mutant import Mutant
from ci.mutants.rewrites import Rewrite, expressions, statements


def members_of(sources: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """The members of every enumeration that these sources define."""
    found: dict[str, tuple[str, ...]] = {}
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef) and _is_enumeration(node):
                targets = [one.targets[0] for one in node.body if isinstance(one, ast.Assign)]
                found[node.name] = tuple(
                    one.id for one in targets if isinstance(one, ast.Name) and one.id.isupper()
                )
    return found


def mutants(root: Path, file: str, members: Mapping[str, tuple[str, ...]]) -> list[Mutant]:
    source = (root / file).read_text(encoding="utf-8")
    made = [_mutant(file, source, one) for one in _rewrites(ast.parse(source), members)]
    unlike = {one.text: one for one in made if one.text != source and _compiles(one.text)}
    return sorted(unlike.values(), key=lambda one: (one.line, one.after))


def _rewrites(tree: ast.AST, members: Mapping[str, tuple[str, ...]]) -> Iterator[Rewrite]:
    if isinstance(tree, ast.expr):
        yield from expressions(tree, members)
    if isinstance(tree, ast.stmt):
        yield from statements(tree)
    for child in _children(tree):
        yield from _rewrites(child, members)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Not what no verdict depends on: annotations, decorators, texts, assertions, enumerations."""
    if isinstance(node, ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.ClassDef) and _is_enumeration(node):
        return
    left_alone = [
        one
        for name in ("annotation", "returns", "decorator_list", "type_params")
        for one in _listed(getattr(node, name, None))
    ]
    yield from (one for one in ast.iter_child_nodes(node) if one not in left_alone)


def _listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _is_enumeration(node: ast.ClassDef) -> bool:
    return any(isinstance(one, ast.Name) and one.id.endswith("Enum") for one in node.bases)


def _mutant(file: str, source: str, rewrite: Rewrite) -> Mutant:
    kind, node, text = rewrite
    lines = source.splitlines(keepends=True)
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    head = lines[first].encode()[: node.col_offset].decode()
    tail = lines[last].encode()[node.end_col_offset :].decode()
    broken = f"{head}{text}{tail}"
    before = "".join(lines[first : last + 1])
    whole = "".join([*lines[:first], broken, *lines[last + 1 :]])
    return Mutant(file, node.lineno, kind, _flat(before), _flat(broken), whole)


def _flat(lines: str) -> str:
    return "\n".join(one.strip() for one in lines.splitlines())


def _compiles(text: str) -> bool:
    try:
        compile(text, "mutant", "exec")
    except SyntaxError:
        return False
    return True
