"""Goal: what a run of pytest makes of an expected file. Method: a toy suite whose verdicts are told
to it, played by a pytest of its own on the fake stack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import cast

import pytest

import chaos.play as playing
from chaos import pytest_plugin
from chaos.contracts import Stack
from chaos.history import History
from chaos.verdict import Outcome, Verdict
from stack.plan import Plan
from tests.chaos.fake_stack import FakeStack

pytest_plugins = ["pytester"]
# With as little as there can be: each of these would be imported anew by every run.
ALONE = tuple(
    f"-pno:{one}" for one in ("cacheprovider", "xdist", "hypothesispytest", "allure_pytest")
)

SUITE = """
import pytest
from chaos.specification import Budgets
from chaos.verdict import CAUGHT
from tests.chaos.fake_stack import Crowd

SHORT = Budgets(service_s=0.2, settle_s=0.2, detect_s=0.2, converge_s=0.2, recover_s=0.5)

def test_caught(play):
    play(Crowd(), allowed=[CAUGHT], budgets=SHORT)

def test_twice(play):
    play(Crowd(), allowed=[CAUGHT], budgets=SHORT)
    play(Crowd(), allowed=[CAUGHT], budgets=SHORT)
"""
Told = Sequence[tuple[str, str, str]]  # strike, verdict, by
BY_A: Told = [("1: kill", "CAUGHT", "a")]
BY_B: Told = [("1: kill", "CAUGHT", "b")]
EXPECTED = """\
# reviewed

["test_toy.py::test_caught"]
"1: kill" = { verdict = "CAUGHT", by = "a" }

["test_toy.py::test_twice"]
"1: kill" = { verdict = "CAUGHT", by = "a" }
"play 2, 1: kill" = { verdict = "CAUGHT", by = "a" }
"""


class Driver:
    """Of a stack that is made of nothing."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def launch(self) -> AbstractContextManager[Stack]:
        return nullcontext(FakeStack())


@dataclass(frozen=True)
class Toy:
    pytester: pytest.Pytester
    verdicts: dict[str, Iterator[Told]]

    @property
    def folder(self) -> Path:
        return self.pytester.path

    @property
    def expected(self) -> Path:
        return self.folder / "expected" / "embedded-smg.toml"

    def tell(self, **verdicts: Sequence[Told]) -> None:
        """Of each test, what each of its runs is going to be judged as: for every run of pytest."""
        told = {"test_caught": [BY_A], "test_twice": [BY_A, BY_A], **verdicts}
        self.verdicts.update({name: cycle(plays) for name, plays in told.items()})

    def judge(self, history: History, _accusers: object) -> tuple[Verdict, ...]:
        return tuple(
            Verdict(strike, Outcome[word], "as told", by=by or None, of_machine=by == "machine")
            for strike, word, by in next(self.verdicts[history.specification.name])
        )

    def write(self, text: str) -> None:
        self.expected.parent.mkdir(exist_ok=True)
        self.expected.write_text(text)

    def run(self, *options: str) -> tuple[int, str]:
        report = ("--report-dir", str(self.folder / "report"))
        ran = self.pytester.runpytest_inprocess("-rxfE", *ALONE, *report, *options)
        return int(ran.ret), "\n".join((*ran.outlines, *ran.errlines))


@pytest.fixture
def toy(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Toy:
    toy = Toy(pytester, {})
    monkeypatch.setitem(cast("dict[str, object]", pytest_plugin.DRIVERS), "embedded", Driver)
    monkeypatch.setattr(playing, "judge", toy.judge)
    pytester.makepyfile(test_toy=SUITE)
    toy.tell()
    toy.write(EXPECTED)
    return toy


def test_a_run_that_is_as_the_file_says_is_green(toy: Toy) -> None:
    code, said = toy.run(".")
    assert code == 0, said


def test_another_name_is_red_and_prints_the_very_line(toy: Toy) -> None:
    toy.tell(test_caught=[BY_B])
    code, said = toy.run(".")
    assert code == 1
    assert "CAUGHT, not expected: as told" in said
    assert f"expected  CAUGHT by a ({toy.expected}:4)" in said
    assert 'to write  "1: kill" = { verdict = "CAUGHT", by = "b" }' in said
    assert "1 failed, 1 passed" in said


def test_accept_writes_that_line_and_the_next_run_is_green(toy: Toy) -> None:
    toy.tell(test_caught=[BY_B])
    code, said = toy.run(".", "--accept")
    assert code == 0, said
    assert "1 lines written" in said
    assert toy.expected.read_text() == EXPECTED.replace('by = "a"', 'by = "b"', 1)
    assert toy.run(".")[0] == 0


def test_accept_writes_a_file_where_there_is_none(toy: Toy) -> None:
    toy.expected.unlink()
    code, said = toy.run(".")
    assert (code, "judged by the promises alone" in said) == (0, True), said
    toy.expected.parent.rmdir()
    code, said = toy.run(".")
    assert (code, "promises alone" in said) == (0, False), said
    assert toy.run(".", "--accept")[0] == 0
    assert toy.expected.read_text().partition("\n\n")[2] == EXPECTED.partition("\n\n")[2]


@pytest.mark.parametrize("word", ["SILENT", "UNKNOWN", "NO_OP"])
def test_accept_refuses_what_no_suite_promises(toy: Toy, word: str) -> None:
    toy.tell(test_caught=[[("1: kill", word, "")]])
    code, said = toy.run(".", "--accept")
    assert code == 1, said
    assert toy.expected.read_text() == EXPECTED


def test_a_line_whose_test_is_gone_is_stale_in_a_run_of_everything(toy: Toy) -> None:
    toy.write(EXPECTED + '\n["test_toy.py::test_gone"]\n"1: kill" = { verdict = "TOLERATED" }\n')
    code, said = toy.run(".")
    assert code == 1, said
    assert f"{toy.expected}:11: stale: there is no test test_toy.py::test_gone" in said
    assert toy.run(".", "-k", "caught or twice")[0] == 0
    assert toy.run("test_toy.py")[0] == 0
    assert toy.run(".", "--accept")[0] == 0
    assert toy.expected.read_text() == EXPECTED


def test_a_line_that_its_test_did_not_play_is_stale(toy: Toy) -> None:
    toy.write(EXPECTED + '"play 3, 1: kill" = { verdict = "TOLERATED" }\n')
    code, said = toy.run(".")
    assert code == 1, said
    assert (
        f"{toy.expected}:9: stale: test_toy.py::test_twice did not play 'play 3, 1: kill'" in said
    )


def test_a_test_that_was_skipped_or_failed_leaves_no_stale_line(toy: Toy) -> None:
    text = SUITE.replace(
        "def test_twice(play):\n", "def test_twice(play):\n    pytest.skip('no')\n"
    )
    (toy.folder / "test_toy.py").write_text(text)
    code, said = toy.run(".")
    assert code == 0, said


KNOWN = '"1: kill" = { verdict = "SILENT", known_bug = "nobody tells of it" }'
WITH_BUG = EXPECTED.replace('"1: kill" = { verdict = "CAUGHT", by = "a" }', KNOWN, 1)


@pytest.mark.parametrize(
    ("word", "by", "ends"),
    [
        ("SILENT", "", "1 passed, 1 xfailed"),
        ("WRONG", "", "1 failed, 1 passed"),
        ("CAUGHT", "a", "1 failed, 1 passed"),
    ],
)
def test_a_known_bug_is_an_expected_failure_and_anything_else_is_news(
    toy: Toy, word: str, by: str, ends: str
) -> None:
    toy.write(WITH_BUG)
    toy.tell(test_caught=[[("1: kill", word, by)]])
    code, said = toy.run(".")
    assert ends in said, said
    assert code == (0 if "xfailed" in ends else 1)
    assert "xfailed" not in ends or "nobody tells of it" in said


def test_another_router_or_topology_without_a_file_is_judged_by_the_promises(toy: Toy) -> None:
    toy.write(EXPECTED.replace('by = "a"', 'by = "b"'))
    assert toy.run(".")[0] == 1
    assert toy.run(".", "--router", "sglang-router")[0] == 0
    assert toy.run(".", "--topology", "1p1d")[0] == 0


def test_the_nearest_file_counts(toy: Toy) -> None:
    below = toy.folder / "below" / "deeper"
    below.mkdir(parents=True)
    (toy.folder / "test_toy.py").rename(below / "test_toy.py")
    code, said = toy.run("below")
    assert code == 1, said
    assert "no line yet in" in said
    toy.write(EXPECTED.replace("test_toy.py", "below/deeper/test_toy.py"))
    assert toy.run("below")[0] == 0
    (toy.folder / "below" / "expected").mkdir()
    nearer = toy.folder / "below" / "expected" / toy.expected.name
    nearer.write_text(EXPECTED.replace("test_toy.py", "deeper/test_toy.py"))
    toy.write("")
    assert toy.run("below")[0] == 0


def test_a_bad_file_is_one_line_of_usage(toy: Toy) -> None:
    toy.write(EXPECTED + "x = 1\n")
    code, said = toy.run(".")
    assert code == pytest.ExitCode.USAGE_ERROR, said
    assert f"{toy.expected}:9: expected " in said
    assert "Traceback" not in said


def test_accept_and_a_guard_that_is_off_do_not_go_together(toy: Toy) -> None:
    code, said = toy.run(".", "--accept", "--guards-off", "step_watchdog")
    assert code == pytest.ExitCode.USAGE_ERROR, said
    assert "drop one of --accept and --guards-off" in said


def test_what_was_played_again_is_told_behind_the_test_and_counted_at_the_end(toy: Toy) -> None:
    toy.tell(test_caught=[[("1: kill", "UNKNOWN", "machine")], BY_A])
    code, said = toy.run(".", "-v")
    assert code == 0, said
    assert "CAUGHT by a (played again 1x)" in said
    assert "test_toy.py::test_caught: as told" in said
    assert "1 plays of 1 tests proved nothing, by the machine" in said


def test_two_tests_of_one_name_keep_a_history_each(toy: Toy) -> None:
    for name in ("one", "two"):
        (toy.folder / name).mkdir()
        (toy.folder / name / "test_toy.py").write_text(SUITE)
    code, said = toy.run("one", "two", "--import-mode=importlib", "-k", "caught")
    assert "2 failed" in said, (code, said)  # no line of theirs in the file above
    assert len(list((toy.folder / "report" / "histories").iterdir())) == 2


OTHER = '\n["test_other.py::test_a"]\n"1: kill" = { verdict = "CAUGHT", by = "a" }\n'


@pytest.mark.parametrize(
    "first", ["import pytest; pytest.importorskip('not_here')", "import not_here"]
)
def test_a_file_that_was_not_collected_loses_no_line(toy: Toy, first: str) -> None:
    toy.write(EXPECTED + OTHER)
    (toy.folder / "test_other.py").write_text(f"{first}\ndef test_a(play): pass\n")
    _, said = toy.run(".", "--continue-on-collection-errors")
    assert "2 passed" in said, said
    assert "stale" not in said
    assert "2 passed" in toy.run(".", "--continue-on-collection-errors", "--accept")[1]
    assert toy.expected.read_text() == EXPECTED + OTHER


def test_a_test_whose_worker_died_before_it_began_loses_no_line(toy: Toy) -> None:
    (toy.folder / "test_toy.py").write_text("def test_heard(play): pass\n")
    dies = "import os, pytest\n@pytest.fixture\ndef end(): os._exit(7)\n"
    (toy.folder / "test_other.py").write_text(dies + "def test_a(end, play): pass\n")
    toy.write(OTHER.lstrip())
    ran = toy.pytester.runpytest_subprocess(
        *("-n", "2", "--accept", ".", "--report-dir", str(toy.folder / "report"))
    )
    ran.stdout.fnmatch_lines(["*crashed while running*test_other.py::test_a*"])
    assert toy.expected.read_text() == OTHER.lstrip()


def test_what_cannot_be_written_is_one_line_and_red(toy: Toy) -> None:
    toy.expected.unlink()
    toy.expected.mkdir()
    code, said = toy.run(".", "--accept")
    assert code == 1, said
    assert f"{toy.expected}: --accept could not write it" in said
    assert "Traceback" not in said
