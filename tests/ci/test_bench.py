"""ci/bench: a row is measured or says why not, nothing hangs it, and nothing is left behind."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chaos.event import Kind
from chaos.judge import judge
from chaos.seed import source
from chaos.stage import Stage
from chaos.verdict import Outcome
from ci.benches import __main__ as bench
from ci.benches import catalogue, measuring
from ci.benches.catalogue import ROWS, Row
from ci.benches.effort import Effort
from ci.benches.interval import median_interval
from ci.benches.machine import Load
from ci.benches.measuring import Measured, measured
from ci.benches.mix import CLIENT, FAILPOINT, FAST, FREEZE, KILL, LINK, MIX, shuffled
from ci.benches.promise import Answer, Figure, Promise, answer, at_least, at_most
from ci.benches.synthetic_history import STRIKES, again, synthetic
from ci.benches.table import is_good, lines
from ci.benches.timeline import Pair, timeline
from stack.guard_settings import GUARDS
from tests.architecture.source import ROOT

LIMIT_S = 30
NOWHERE = Load(0.0, 0.0)
PAIR = Pair("prefill-1", "decode-0", "key-3")


def ci_bench(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ci.benches", *words],
        cwd=ROOT,
        timeout=LIMIT_S,
        capture_output=True,
        text=True,
        check=False,
    )


# A row's name


def test_a_row_that_is_none_is_refused_and_all_rows_are_listed() -> None:
    ended = ci_bench("judgement")

    assert ended.returncode == 2
    assert "no row judgement" in ended.stderr
    assert all(row.name in ended.stderr for row in ROWS)
    assert ended.stdout == ""


@pytest.mark.parametrize("words", [("--fault-free", "0"), ("--json", "no/such/folder/figures")])
def test_a_bad_option_is_refused_before_anything_is_measured(words: tuple[str, str]) -> None:
    ended = ci_bench("suites", *words)
    assert (ended.returncode, ended.stdout) == (2, "")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_has_its_module_and_says_what_it_promises(row: Row) -> None:
    whats = [one.what for one in row.module.PROMISES]
    assert whats
    assert len(set(whats)) == len(whats)
    assert any(one.budget is not None for one in row.module.PROMISES)


def test_the_quick_bounds_leave_what_is_too_long_out() -> None:
    ended = ci_bench("suites", "--quick")
    assert ended.returncode == 0
    assert "not measured" in ended.stdout
    assert "too long for --quick" in ended.stdout


# Measuring one row


ROW_OF_A_TEST = """
import subprocess, sys, time
from ci.benches.effort import NotMeasured
from ci.benches.promise import Figure, Promise, at_most
PROMISES = (Promise("first", at_most(1, "s")), Promise("second", at_most(1, "s")))
def measure(effort):
    yield Figure("first", (0.5,), str(effort))
    WHAT
"""


def row_of(folder: Path, what: str) -> Row:
    """A row of its own checkout: this one's code, and one module more."""
    benches = folder / "ci" / "benches"
    for path in sorted((ROOT / "ci" / "benches").rglob("*.py")):
        copy = benches / path.relative_to(ROOT / "ci" / "benches")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text())
    (benches / "rows" / "mine.py").write_text(ROW_OF_A_TEST.replace("WHAT", what))
    text = (benches / "catalogue.py").read_text()
    (benches / "catalogue.py").write_text(text.replace("ROWS = (", 'ROWS = (Row("mine", 1, 1),'))
    return Row("mine", 1, 1)


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Children run in the copy; this process reads the promises from there, too."""
    monkeypatch.setattr(measuring, "ROOT", tmp_path)
    namespace: dict[str, object] = {}

    def module(_: str) -> object:
        source_text = (tmp_path / "ci" / "benches" / "rows" / "mine.py").read_text()
        exec(source_text, namespace)  # noqa: S102 - the text stands above
        return type("Module", (), namespace)

    monkeypatch.setattr(catalogue, "import_module", module)
    return tmp_path


def answers(of: Measured) -> list[tuple[Answer, str]]:
    return [(answer(promise, figure), figure.note) for promise, figure in of.lines]


def test_a_row_is_measured_in_a_process_of_its_own(mine: Path) -> None:
    row = row_of(mine, 'yield Figure("second", (2.0, 3.0))')

    effort = Effort(quick=True, fault_free=7, stack="sglang")

    found = answers(measured(row, effort, LIMIT_S))

    assert found == [(Answer.HOLDS, str(effort)), (Answer.MISSES, "")]


def test_a_row_that_raises_keeps_its_figures_and_says_why_the_rest_is_missing(mine: Path) -> None:
    row = row_of(mine, 'raise NotMeasured("the moon was full")')

    (first, _), (second, why) = answers(measured(row, Effort(), LIMIT_S))

    assert (first, second) == (Answer.HOLDS, Answer.NOT_MEASURED)
    assert "the moon was full" in why


def test_a_row_that_hangs_is_ended_after_its_bound_with_what_it_started(mine: Path) -> None:
    sleeper = '[sys.executable, "-c", "import time; time.sleep(60)", "of-ci-bench"]'
    row = row_of(
        mine,
        f"""with subprocess.Popen({sleeper}) as child:
        try:
            (open("pid", "w")).write(str(child.pid))
            time.sleep(60)
        finally:
            child.kill()""",
    )
    began_s = time.monotonic()

    (first, _), (second, why) = answers(measured(row, Effort(), 4.0))

    assert time.monotonic() - began_s < LIMIT_S
    assert (first, second) == (Answer.HOLDS, Answer.NOT_MEASURED)
    assert "did not end within 4 s" in why
    assert not Path("/proc", (mine / "pid").read_text()).exists()


# What may be concluded


def test_the_interval_of_thirty_values_is_the_one_in_the_tables() -> None:
    """Conover's table for n=30 and 95 %: the tenth from both ends."""
    interval = median_interval([float(value) for value in range(1, 31)])
    assert interval is not None
    assert (interval.low, interval.high) == (10.0, 21.0)


def test_five_values_are_too_few_for_an_interval_and_six_are_not() -> None:
    assert median_interval([1.0] * 5) is None
    assert median_interval([1.0] * 6) is not None


def test_the_interval_holds_the_median_about_as_often_as_it_says() -> None:
    rng = source(0, "tests/bench")
    samples = [[rng.gauss(0.0, 1.0) for _ in range(30)] for _ in range(2000)]
    found = [median_interval(sample) for sample in samples]
    covered = sum(one is not None and one.low <= 0.0 <= one.high for one in found)
    assert 0.945 < covered / len(found) < 0.975  # 95.7 % by the binomial


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((1.0, 2.0, 3.0, 3.5, 4.0, 4.5), Answer.HOLDS),
        ((6.0, 7.0, 8.0, 9.0, 9.5, 9.9), Answer.MISSES),
        ((1.0, 2.0, 3.0, 3.5, 4.0, 9.0), Answer.UNDECIDED),
        ((1.0, 2.0), Answer.UNDECIDED),
        ((), Answer.NOT_MEASURED),
    ],
)
def test_a_comparison_holds_only_when_its_whole_interval_does(
    values: tuple[float, ...], expected: Answer
) -> None:
    assert answer(Promise("loss", at_most(5, "%"), paired=True), Figure("loss", values)) is expected


@pytest.mark.parametrize(("value", "expected"), [(119.9, Answer.MISSES), (120.0, Answer.HOLDS)])
def test_at_least_is_no_at_most(value: float, expected: Answer) -> None:
    assert answer(Promise("rate", at_least(120, "/min")), Figure("rate", (value,))) is expected


def test_a_table_with_a_miss_or_a_hole_is_not_good() -> None:
    promise = Promise("time", at_most(1, "s"))

    def good(*values: float) -> bool:
        return is_good([Measured("row", ((promise, Figure("time", values)),), NOWHERE)])

    assert good(1.0)
    assert not good(1.1)
    assert not good()


def test_the_table_shows_budget_figure_extremes_answer_and_load() -> None:
    line = (Promise("time", at_most(2, "s")), Figure("time", (1.0, 1.25, 3.0), "a note"))
    text = "\n".join(lines(Measured("row", (line,), Load(0.5, 1.5))))
    for part in ("at most 2 s", "1.25 s (1 .. 3), n 3", "holds", "(a note)", "load 0.5 -> 1.5"):
        assert part in text


def test_the_json_file_has_every_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    promise = Promise("time", at_most(2, "s"))

    def fake(row: Row, _effort: Effort, _bound_s: float) -> Measured:
        return Measured(row.name, ((promise, Figure("time", (1.0, 3.0))),), NOWHERE)

    monkeypatch.setattr(bench, "measured", fake)
    file = tmp_path / "figures.json"

    assert bench.main(["ready", "--json", str(file)]) == 0
    (told,) = json.loads(file.read_text())["rows"]
    assert (told["row"], told["values"], told["answer"]) == ("ready", [1.0, 3.0], "holds")
    assert "ready" in capsys.readouterr().out


# What the rows are made of


def test_the_mix_has_the_shares_that_the_design_names() -> None:
    shares = [len(some) / len(MIX) for some in (CLIENT, LINK, FAILPOINT, KILL, FREEZE)]
    assert shares == [0.40, 0.25, 0.20, 0.10, 0.05]
    assert sorted(shuffled(1), key=MIX.index) == list(MIX)


def test_the_guards_of_the_mix_act_within_half_a_second() -> None:
    timed = [
        guard.budget_s - FAST.slack_s
        for guard in FAST.guards.values()
        if not GUARDS[guard.name].of_router and guard.name != "drain"  # nobody is told to go
    ]
    assert 0.3 <= max(timed) <= 0.5


def test_no_victim_is_sent_before_the_turn_before_it_is_over() -> None:
    """A request that lives under two strikes would be charged to both."""
    experiment = timeline("mix", MIX, [PAIR])
    turns = [make(PAIR, "v") for make in MIX]
    dues_s = [one.due_s for one in experiment.workload.requests(source(0, "x"))]

    assert all(turn.for_s < turn.room_s for turn in turns)
    assert all(turn.entering is not Stage.CLEANUP for turn in turns)
    assert dues_s == sorted(dues_s)
    assert len(experiment.strikes) == len(dues_s) == len(MIX)


def test_the_synthetic_history_is_as_large_as_asked_and_nobody_is_accused() -> None:
    history = synthetic(5_000)

    assert len(history) >= 5_000
    assert len(history.control or ()) >= 5_000
    assert len(history.of(Kind.STRUCK)) == STRIKES
    verdicts = judge(again(history))
    assert {one.outcome for one in verdicts} == {Outcome.TOLERATED}


def test_a_copy_of_a_history_to_be_judged_again_has_no_index_yet() -> None:
    history = synthetic(1_000)
    assert history.lives
    assert "lives" not in vars(again(history))
