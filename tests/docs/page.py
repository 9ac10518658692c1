"""A page of Markdown: its sections, its blocks of code, and the names that it mentions."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ".chaos/"  # written by a run, so no checkout has it


@dataclass(frozen=True, slots=True)
class Page:
    text: str

    def section(self, title: str) -> Page:
        found = re.search(rf"(?ms)^## {re.escape(title)}$(.*?)(?=^## |\Z)", self.text)
        assert found, f"no section {title!r}"
        return Page(found[1])

    def blocks(self, language: str) -> list[str]:
        """The code of this language; "" is code without one."""
        fences = re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", self.text)
        return [code for told, code in fences if told == language]

    @property
    def words(self) -> list[str]:
        """What stands between backticks in the prose, and every word of a shell block."""
        prose = re.sub(r"(?ms)^```.*?^```$", "", self.text)
        return [*re.findall(r"`([^`\n]+)`", prose), *" ".join(self.commands).split()]

    @property
    def commands(self) -> list[str]:
        return [
            line
            for block in (*self.blocks("sh"), *self.blocks(""))
            for line in block.splitlines()
            if line.strip()
        ]

    @property
    def paths(self) -> list[str]:
        """Every word that can only be a path, with a slash inside or at its end; every link."""
        found = [path for word in self.words for path in word.split() if "/" in path]
        found += re.findall(r"\]\(([^):#]+)\)", self.text)
        return [path for path in found if re.fullmatch(r"[\w.-]+(/[\w.-]+)*/?", path)]

    def subcommands(self, package: str) -> set[str]:
        """What follows `python -m PACKAGE`; a word in capitals stands for any."""
        return set(re.findall(rf"python3? -m {package} ([a-z]\w*)", self.text))


def missing(paths: list[str], root: Path) -> list[str]:
    """The paths that do not exist, those that only a run writes aside."""
    return [one for one in paths if not one.startswith(OUTPUT) and not (root / one).exists()]


def imports_of(file: Path) -> str:
    """The import statements at the top of one of our modules."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    lines = [ast.unparse(one) for one in body if isinstance(one, ast.Import | ast.ImportFrom)]
    return "\n".join(lines)


def modules(root: Path, folder: str) -> set[str]:
    """This folder and those in it that hold modules: "stack/", "stack/engine/"."""
    files = [file.relative_to(root) for file in (root / folder).rglob("*.py")]
    return {f"{'/'.join(file.parent.parts[:2])}/" for file in files}
