"""Writes README.md's map: one line per module, the module's own first line.

Usage: python ci/map.py [--check]   (--check: exit code 1 when the map is not what it would write)
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
FOLDERS = ("chaos", "stack", "kernels", "faults", "suites")
BEGIN, END = "<!-- map: python ci/map.py -->\n", "<!-- end of map -->\n"


def main(words: list[str]) -> int:
    if words not in ([], ["--check"]):
        sys.stderr.write(f"ci/map.py: expected nothing or --check, got {' '.join(words)}\n")
        return 2
    text = README.read_text(encoding="utf-8")
    wanted = with_map(text, the_map(ROOT))
    if words:
        return 0 if text == wanted else 1
    README.write_text(wanted, encoding="utf-8")
    return 0


def with_map(text: str, lines: str) -> str:
    """The text with this map between the two marks. ValueError where it has no such marks."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"README.md: expected one {BEGIN.strip()} and one {END.strip()}")
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}{lines}{END}{rest.partition(END)[2]}"


def the_map(root: Path) -> str:
    return "".join(block for folder in FOLDERS for block in _blocks(root, root / folder))


def _blocks(root: Path, folder: Path) -> Iterator[str]:
    """One block for this folder, and one for each folder below it that has modules."""
    modules = sorted(folder.glob("*.py"))
    if modules:
        title = first_line(folder / "__init__.py") if (folder / "__init__.py") in modules else ""
        name = folder.relative_to(root).as_posix()
        rows = "".join(
            f"| `{one.stem}` | {first_line(one)} |\n" for one in modules if one.stem != "__init__"
        )
        head = f"<details><summary><b>{name}/</b> {title}</summary>\n\n| module | what it owns |\n"
        yield f"{head}|---|---|\n{rows}\n</details>\n"
    for below in sorted(one for one in folder.iterdir() if one.is_dir()):
        yield from _blocks(root, below)


def first_line(module: Path) -> str:
    doc = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return doc.partition("\n")[0].replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
