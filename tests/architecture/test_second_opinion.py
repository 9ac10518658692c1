"""The second opinion shares no code with the judge, only the words of which histories are made."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

FOLDER = ROOT / "tests" / "chaos" / "second_opinion"
WORDS = {"actor", "clock", "event", "history", "seed", "specification", "stage", "verdict"}
ASKS_BOTH = {"difference.py", "test_second_opinion.py"}  # these compare the two
WITH_FILE = {"test_second_opinion.py"}


def foreign(source: str) -> Iterator[str]:
    """What it imports of ours beside the words and its own folder."""
    for node in ast.walk(ast.parse(source)):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        for name in names:
            top, _, rest = name.partition(".")
            ours = top in {"chaos", "faults", "kernels", "stack", "suites", "tests", "ci"}
            own = name.startswith("tests.chaos.second_opinion")
            if ours and not own and not (top == "chaos" and rest in WORDS):
                yield name


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_the_second_opinion_imports_only_words(path: Path) -> None:
    allowed = {"chaos.judge"} if path.name in ASKS_BOTH else set[str]()
    allowed |= {"chaos.history_file"} if path.name in WITH_FILE else set[str]()
    assert set(foreign(path.read_text(encoding="utf-8"))) - allowed == set()


@pytest.mark.parametrize(
    "line",
    [
        "from chaos.fate import fates",
        "import chaos.oracles.tokens",
        "from tests.chaos import table",
    ],
)
def test_a_model_that_borrows_from_the_judge_is_complained_about(line: str) -> None:
    assert len(list(foreign(f"from chaos.event import Kind\n{line}\n"))) == 1
