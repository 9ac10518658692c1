"""`pytest suites/ -n 2`: two stacks at once, and one account of both."""

from __future__ import annotations

import re
from pathlib import Path

from chaos import history_file
from chaos.judge import judge
from tests.suites.suite_run import run_suites

# Two whose guards are switched off in test_negative_controls: with them they are green.
SELECT = "kv_transfer_stalled_in_the_middle or test_client_disconnects[transfer]"


def test_two_workers_have_a_stack_each_and_their_verdicts_stand_in_one_matrix(
    tmp_path: Path,
) -> None:
    ran = run_suites(tmp_path, "-k", SELECT, workers=2)
    assert ran.exit_code == 0, ran.output
    assert len(ran.passed) == 2
    for title in ("verdicts", "stage x fault"):
        assert len(re.findall(rf"(?m)^=+ {title} =+$", ran.output)) == 1, ran.output
    assert "2 of 126 cells" in ran.output
    histories = [history_file.read(file) for file in ran.histories]
    for name in ran.passed:  # one that a busy machine left undecided was played again
        told = [str(judge(one)[0]) for one in histories if one.specification.name == name]
        assert any(verdict in ran.output for verdict in told), (name, told)
    assert (tmp_path / "allure-results" / "environment.properties").exists()
