"""The house rules, executed; and each of them broken on purpose, to see that it complains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import pytest

from tests.architecture import rules
from tests.architecture.source import ROOT, Source, files, sources

Rule = Callable[[Source], Iterator[str]]
TextRule = Callable[[str, str], Iterator[str]]
RULES: tuple[Rule, ...] = (
    rules.long_files,
    rules.long_functions,
    rules.vague_names,
    rules.inheritance,
    rules.undocumented_modules,
    rules.bare_suppressions,
    rules.fixed_temporary_files,
)
TEXT_RULES: tuple[TextRule, ...] = (rules.registry_hosts, rules.machine_paths)
HOST = rules.HOSTS[0]
PATH = rules.MACHINE_PATHS[0]
TEMPORARY = "/" + "tmp/history.jsonl"
LADDER = "class Small: ...\nclass Big(Small): ...\n"
LODGER = "from chaos.contracts import Link\nclass Big(Link): ...\n"
DOC = '"""Owns nothing: it breaks a rule."""\n'


@pytest.fixture(scope="module")
def ours() -> list[Source]:
    """Each of our files, parsed once for all rules."""
    return sources(ROOT)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_our_code_keeps_this_rule(rule: Rule, ours: list[Source]) -> None:
    assert list(chain.from_iterable(rule(source) for source in ours)) == []


@pytest.mark.parametrize("rule", TEXT_RULES, ids=lambda rule: rule.__name__)
def test_our_texts_keep_this_rule(rule: TextRule) -> None:
    ours = rules.texts(ROOT, files(ROOT))
    assert list(chain.from_iterable(rule(text, name) for text, name in ours)) == []


@pytest.mark.parametrize(
    ("rule", "name", "text", "complaint"),
    [
        (rules.long_files, "long.py", DOC + "x = 1\n" * 300, "301 lines"),
        (rules.long_functions, "f.py", DOC + "def f():\n" + "    x = 1\n" * 40, "f: 41 lines"),
        (rules.vague_names, "utils.py", DOC, "'utils'"),
        (rules.vague_names, "page_manager.py", DOC, "'manager'"),
        (rules.vague_names, "page.py", DOC + "class PageHelper: ...\n", "'helper'"),
        (rules.inheritance, "page.py", DOC + LADDER, "class Big: inherits from Small"),
        (rules.inheritance, "page.py", DOC + LODGER, "class Big: inherits from Link"),
        (rules.undocumented_modules, "page.py", "x = 1\n", "first line"),
        (rules.bare_suppressions, "page.py", DOC + "x = 1  # noq" + "a: E501\n", "reason"),
        (rules.bare_suppressions, "page.py", DOC + "x = 1  # type: igno" + "re[arg]\n", "reason"),
        (rules.fixed_temporary_files, "page.py", DOC + f"x = '{TEMPORARY}'\n", "fixed"),
    ],
)
def test_a_file_that_breaks_the_rule_is_complained_about(
    rule: Rule, name: str, text: str, complaint: str, tmp_path: Path
) -> None:
    complaints = list(rule(_written(tmp_path, name, text)))
    assert len(complaints) == 1
    assert complaint in complaints[0]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (rules.long_files, DOC + "x = 1\n" * 299),
        (rules.long_functions, DOC + "def f():\n" + "    x = 1\n" * 39),
        (rules.inheritance, DOC + "class Gone(OSError): ...\nclass Away(Gone): ...\n"),
        (rules.inheritance, DOC + "class Page(Protocol): ...\nclass Box(Generic[T]): ...\n"),
        (rules.bare_suppressions, DOC + "x = 1  # noq" + "a: E501 - a table reads better\n"),
        (rules.fixed_temporary_files, DOC + "x = 'tmp/history.jsonl'\n"),
        (rules.fixed_temporary_files, DOC + f"x = '{TEMPORARY}'  # noq" + "a: S108 - made here\n"),
        (rules.vague_names, DOC + "class Database: ...\n"),
    ],
)
def test_a_file_that_just_keeps_the_rule_is_left_alone(
    rule: Rule, text: str, tmp_path: Path
) -> None:
    assert list(rule(_written(tmp_path, "page.py", text))) == []


def test_a_registry_host_in_any_text_is_complained_about() -> None:
    assert list(rules.registry_hosts(f"index = https://{HOST}/simple", "a.toml")) != []


def test_a_path_of_one_machine_in_any_text_is_complained_about() -> None:
    assert list(rules.machine_paths(f"cd {PATH} && ls", "a.sh")) != []
    assert list(rules.machine_paths("see framework/ and net" + PATH, "a.md")) == []


def _written(folder: Path, name: str, text: str) -> Source:
    file = folder / name
    file.write_text(text)
    return Source(file, folder)
