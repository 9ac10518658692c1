"""Goal: a history survives its process. Method: write it, hurt the file, read it back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.event import Kind
from chaos.history import History
from chaos.history_file import CutOff, read, salvage, write
from chaos.judge import judge
from chaos.specification import Alert
from chaos.specification_json import from_json, to_json
from chaos.stage import FaultKind
from chaos.verdict import Outcome
from tests.chaos.table import CONTROL, history, played, strike

LOAD = '1.0 client sent r1 routing_key=null\n 1.2 client tokens r1 text="ö \\u2028 x"\n'
ALERT = Alert("pinned", "*/x", "pinned", for_s=1.5, whole_stack=True)


def told() -> History:
    wide = replace(strike("S2"), about=("r*", "a0.*"))
    strikes = [strike("S1", FaultKind.KILLED, ("decode-0",), alive=True), wide]
    return history(played(LOAD), control=CONTROL, strikes=strikes, alerts=[ALERT])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "history.jsonl"
    write(path, told())
    return path


def test_what_was_written_reads_back_equal(file: Path) -> None:
    assert read(file) == told()
    assert [one.name for one in file.parent.iterdir()] == ["history.jsonl"]


def test_a_history_without_a_control_reads_back_without_one(tmp_path: Path) -> None:
    path = tmp_path / "alone.jsonl"
    write(path, history(CONTROL))
    assert read(path) == history(CONTROL)


def test_a_specification_is_the_same_after_the_journey() -> None:
    specification = told().specification
    assert from_json(json.loads(json.dumps(to_json(specification)))) == specification


def test_a_specification_of_before_there_was_a_blast_radius_is_read_without_one() -> None:
    written = json.loads(json.dumps(to_json(told().specification)))
    for one in written["strikes"]:
        del one["about"]
    for one in written["alerts"]:
        del one["whole_stack"]
    read_back = from_json(written)
    assert [one.about for one in read_back.strikes] == [(), ()]
    assert [one.whole_stack for one in read_back.alerts] == [False]


def refusal(path: Path) -> str:
    with pytest.raises(ValueError, match=r"history\.jsonl") as caught:
        read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_empty_file_is_refused_in_one_line(file: Path) -> None:
    file.write_text("")
    assert refusal(file).endswith("the file is empty")


def test_a_foreign_file_is_refused_in_one_line(file: Path) -> None:
    file.write_text("<html>\n")
    assert "line 1: expected a JSON object, came '<html>'" in refusal(file)
    file.write_text('{"events": []}\n')
    assert "line 1: expected the header" in refusal(file)
    file.write_bytes(b"\xff\xfe\x00\n")
    assert "line 1: expected a JSON object" in refusal(file)
    file.write_text("[" * 100_000)
    assert "line 1: expected a JSON object" in refusal(file)


def test_a_newer_format_is_refused_in_one_line(file: Path) -> None:
    file.write_text(file.read_text().replace('"version": 1', '"version": 2'))
    assert "line 1: expected version 1" in refusal(file)


def test_a_header_with_a_bad_specification_is_refused_in_one_line(file: Path) -> None:
    file.write_text(file.read_text().replace('"seed": 7', '"seed": "seven"', 1))
    assert "line 1: no specification of ours" in refusal(file)
    file.write_text(file.read_text().replace('"seed": "seven"', '"sede": 7', 1))
    assert "unknown fields: sede" in refusal(file)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"kind":"sent"', '"kind":"snet"', "unknown kind"),
        ('"stage":"intake"', '"stage":"intkae"', "unknown stage"),
        ('"attempt":7', '"attempt":"7"', "an attempt is a bootstrap room"),
        ('"actor":"client"', '"actor":5', "a mark has at_ns"),
        ('{"part":"run"}', '{"part":"rnu"}', "expected a part called"),
        ('{"end":', '{"end":1', "expected an end line that counts"),
    ],
)
def test_a_damaged_line_is_named(file: Path, old: str, new: str, why: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    assert why in refusal(file)


def test_lines_after_the_end_are_refused(file: Path) -> None:
    file.write_text(file.read_text() + '{"part":"run"}\n')
    assert "nothing after the end line" in refusal(file)


def test_a_cut_off_file_is_refused_and_what_is_there_proves_nothing(file: Path) -> None:
    whole = file.read_bytes()
    for size in range(len(whole) - 1, whole.index(b"\n") + 1, -97):
        file.write_bytes(whole[:size])
        with pytest.raises(CutOff, match="cut off"):
            read(file)
        saved = salvage(file)
        assert saved.events[-1].kind is Kind.TOOL_ERROR
        outcomes = {verdict.outcome for verdict in judge(saved)}
        assert outcomes == {Outcome.UNKNOWN}


def test_a_whole_file_needs_no_salvage(file: Path) -> None:
    assert salvage(file) == told()


KEPT_BY_A_CHILD = """
import sys, threading
from pathlib import Path
from chaos.clock import MonotonicClock
from chaos.event import Kind
from chaos.keeper import keeping
from chaos.recorder import Recorder
from tests.chaos.table import SPECIFICATION
recorder = Recorder(MonotonicClock())
with keeping(Path(sys.argv[1]), SPECIFICATION, None, recorder):
    recorder.write("client", Kind.SENT, "r1")
    threading.Event().wait(60)
"""


def test_a_process_that_is_killed_leaves_a_readable_beginning(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    child = subprocess.Popen([sys.executable, "-c", KEPT_BY_A_CHILD, str(path)])
    try:
        deadline_s = time.monotonic() + 20
        while not path.exists() or '"sent"' not in path.read_text():
            assert time.monotonic() < deadline_s, "the child wrote nothing"
            time.sleep(0.02)  # the file has no event to wait for; bounded above
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait(5)
    assert "r1" in salvage(path).lives
