"""Our source files, as the architecture tests read them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("chaos", "faults", "kernels", "stack")
FOLDERS = (*PACKAGES, "suites", "tests", "ci")
TEXTS = (".ci", ".github", "docs", *FOLDERS)
NOT_OURS = frozenset({".git", "__pycache__", ".chaos", "node_modules"})


@dataclass(frozen=True)
class Source:
    """One Python file below a root."""

    path: Path
    root: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(self.root).as_posix()

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, filename=self.name)

    @property
    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    @property
    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))


def sources(root: Path, folders: tuple[str, ...] = FOLDERS) -> list[Source]:
    return [Source(path, root) for path in files(root, folders) if path.suffix == ".py"]


def files(root: Path, folders: tuple[str, ...] = TEXTS) -> list[Path]:
    """Every file of ours below these folders, and those that stand in the root itself."""
    below = [path for folder in folders for path in sorted((root / folder).rglob("*"))]
    beside = sorted(root.glob("*")) if folders == TEXTS else []
    return [
        path
        for path in (*beside, *below)
        if path.is_file() and NOT_OURS.isdisjoint(path.relative_to(root).parts)
    ]
