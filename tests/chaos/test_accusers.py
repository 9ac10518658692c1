"""Goal: what a user's oracle sees makes a verdict. Method: one that counts refusals, by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from chaos import history_file
from chaos.accusers import OURS, everyone
from chaos.history import History
from chaos.judge import flawed, judge
from chaos.oracles.symptom import Symptom
from chaos.stage import Stage
from chaos.verdict import Outcome, Verdict
from tests.chaos.one_request import GUARD, REFUSED, RIGHT, SENT, finished
from tests.chaos.table import CONTROL, history, played, strike

ROOT = Path(__file__).resolve().parents[2]
CAUGHT = SENT + GUARD + REFUSED
SOON_S = 60.0


@dataclass(frozen=True)
class Told:
    """Says of these requests what it was told to say."""

    about: Sequence[str] = ("r1",)
    name: str = "told"
    outcome: Outcome = Outcome.WRONG
    stage: Stage = Stage.DISPATCH
    why: str | None = None
    fails: Exception | None = None
    strange: object = None
    control_too: bool = False

    def symptoms(self, history: History) -> Sequence[Symptom]:
        if self.fails is not None:
            raise self.fails
        if history.control is None and not self.control_too:
            return ()
        if self.strange is not None:
            return [self.strange]  # type: ignore[list-item] - bad on purpose
        lives = [history.lives[one] for one in self.about if one in history.lives]
        ended = [(one, one.settled.at_ns) for one in lives if one.settled]
        return [
            Symptom(one.request_id, "has a spelling mistake", one.sent.at_ns, at_ns, (4,))
            for one, at_ns in ended
        ]

    def unproven(self, history: History) -> str | None:
        return self.why if history.control is not None else None


def verdicts(oracle: object, load: str = SENT + RIGHT + finished(1.5)) -> tuple[Verdict, ...]:
    table = history(played(load), control=CONTROL, strikes=[strike()])
    return judge(table, everyone([oracle]))


def test_what_a_users_oracle_sees_is_charged_to_the_strike_and_makes_its_verdict() -> None:
    seen = "1.2 client sent r1\n" + RIGHT + finished(1.5)  # no worker wrote of it
    (verdict,) = verdicts(Told(), seen)
    assert verdict == Verdict(
        "S1",
        Outcome.WRONG,
        "r1 has a spelling mistake",
        after_s=0.4,
        evidence=(4,),
        stage="dispatch",
        about=("r1",),
    )
    (without,) = verdicts(Told(about=()), seen)
    assert without.outcome is Outcome.TOLERATED


@pytest.mark.parametrize("outcome", [Outcome.FALSE_ALARM, Outcome.LEAKED, Outcome.NOT_RECOVERED])
def test_it_stands_where_its_outcome_stands_among_the_others(outcome: Outcome) -> None:
    (verdict,) = verdicts(Told(outcome=outcome), CAUGHT)
    assert verdict.outcome is outcome
    wrong = CAUGHT.replace("1.05", "1.2 client tokens r1 text=XX\n 1.05")
    (worse,) = verdicts(Told(outcome=outcome), wrong)
    assert worse.outcome is Outcome.WRONG


def test_what_it_could_not_look_at_proves_nothing() -> None:
    (verdict,) = verdicts(Told(about=(), why="nobody spelt it"))
    assert (verdict.outcome, verdict.reason) == (Outcome.UNKNOWN, "nobody spelt it")
    assert not verdict.of_machine
    (seen,) = verdicts(Told(why="nobody spelt it"))
    assert seen.outcome is Outcome.WRONG, "who sees something has looked"


@pytest.mark.parametrize(
    ("oracle", "why"),
    [
        (Told(fails=KeyError("dictionary")), "KeyError('dictionary')"),
        (Told(strange="r1"), "expected a Symptom, came 'r1'"),
    ],
)
def test_one_that_fails_is_named_and_proves_nothing(oracle: Told, why: str) -> None:
    (verdict,) = verdicts(oracle)
    assert (verdict.outcome, verdict.reason) == (Outcome.UNKNOWN, f"an oracle failed: told: {why}")


def test_what_fails_beside_every_oracle_is_told_as_it_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise KeyError("r1")

    monkeypatch.setattr("chaos.judge.cases", fails)
    (verdict,) = judge(history(CONTROL))
    assert (verdict.outcome, verdict.reason) == (
        Outcome.UNKNOWN,
        "an oracle failed: KeyError('r1')",
    )


def test_a_control_in_which_it_sees_something_is_no_reference() -> None:
    control, verdict = verdicts(Told(control_too=True))
    assert (control.strike, control.outcome) == ("control", Outcome.WRONG)
    assert verdict.outcome is Outcome.UNKNOWN
    assert flawed(history(CONTROL), everyone([Told(control_too=True)])) is not None
    assert flawed(history(CONTROL)) is None


@pytest.mark.parametrize(
    ("mine", "why"),
    [
        ([object()], r"expected an oracle .*lacks \['name', 'outcome', 'stage', 'symptoms'"),
        ([Told(outcome=Outcome.SILENT)], "outcome: expected one of WRONG, NOT_RECOVERED"),
        ([Told(stage="decode")], "stage: expected a Stage, came 'decode'"),  # type: ignore[arg-type] - bad on purpose
        ([Told(), Told()], "two oracles are called 'told'"),
        ([Told(name=OURS[0].name)], "two oracles are called 'endings'"),
    ],
)
def test_what_is_no_oracle_is_refused(mine: list[object], why: str) -> None:
    with pytest.raises((TypeError, ValueError), match=why):
        everyone(mine)


# --- found by its entry point --------------------------------------------------------------------

OUTSIDE = """
from dataclasses import dataclass
from chaos.oracles.symptom import Symptom
from chaos.stage import Stage
from chaos.verdict import Outcome

@dataclass(frozen=True)
class NoGuard:
    name: str = "no guard"
    outcome: Outcome = Outcome.WRONG
    stage: Stage = Stage.OBSERVERS

    def symptoms(self, history):
        told = [(one, guard) for one in history.lives.values() for guard in one.guards]
        return [Symptom(one.request_id, "was named", e.at_ns, e.at_ns) for one, e in told]

    def unproven(self, history):
        return None
"""


def judged_with(folder: Path, package: str, value: str) -> subprocess.CompletedProcess[str]:
    """`python -m chaos judge` of a caught strike, in an environment with this package."""
    kept = folder / "caught.jsonl"
    history_file.write(kept, history(played(CAUGHT), control=CONTROL, strikes=[strike()]))
    (folder / "outside.py").write_text(package, encoding="utf-8")
    known = folder / "outside-1.0.dist-info"
    known.mkdir()
    (known / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (known / "entry_points.txt").write_text(f"[pd_chaos.oracles]\noutside = {value}\n")
    return subprocess.run(
        [sys.executable, "-m", "chaos", "judge", str(kept), "--expect", "CAUGHT"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=SOON_S,
        check=False,
    )


def test_an_installed_oracle_judges_kept_histories(tmp_path: Path) -> None:
    told = judged_with(tmp_path, OUTSIDE, "outside:NoGuard")
    assert told.returncode == 1, told.stderr
    assert "S1: expected CAUGHT, came WRONG" in told.stdout


@pytest.mark.parametrize(
    ("package", "value", "why"),
    [
        ("raise OSError('no licence')", "outside:NoGuard", "OSError('no licence')"),
        (OUTSIDE, "outside:Nobody", "has no attribute 'Nobody'"),
        (OUTSIDE, "outside:Symptom", "missing 4 required positional arguments"),
        (OUTSIDE, "outside:Stage.DECODE", "expected an oracle (chaos/oracles/accuser.py)"),
    ],
)
def test_what_is_installed_and_no_oracle_is_bad_input_and_one_line(
    package: str, value: str, why: str, tmp_path: Path
) -> None:
    told = judged_with(tmp_path, package, value)
    assert told.returncode == 2, told.stdout
    (line,) = told.stderr.strip().splitlines()
    assert f"entry point 'outside' of pd_chaos.oracles ({value})" in line
    assert why in line
