"""Goal: each role gets what it needs, a GPU gets no shim, and parts are told apart by title."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from stack.drivers.sglang_program import SHIMS, SglangAnatomy, SglangProgram
from stack.drivers.sglang_shared_memory import SharedMemory
from stack.guardian import Guardian
from stack.process_table import ProcessId, identify
from tests.stack.until import until


@pytest.fixture
def decode(tmp_path: Path) -> Generator[SglangProgram]:
    guardian = Guardian()
    yield SglangProgram(
        guardian=guardian,
        shared_memory=SharedMemory(guardian, "pdchaos-test-"),
        name="decode-0",
        python=Path("python"),
        model=tmp_path / "model",
        port=27_001,
        rendezvous_port=27_003,
        bootstrap_port=None,
        directory=tmp_path / "decode-0",
        environment={"SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "8"},
    )
    guardian.close()


def value(program: SglangProgram, flag: str) -> str:
    words = program.arguments()
    return words[words.index(flag) + 1]


def test_each_role_is_told_its_own(decode: SglangProgram) -> None:
    prefill = replace(decode, name="prefill-0", bootstrap_port=27_002)
    assert value(decode, "--disaggregation-mode") == "decode"
    assert value(prefill, "--disaggregation-mode") == "prefill"
    assert value(prefill, "--disaggregation-bootstrap-port") == "27002"
    assert "--disaggregation-bootstrap-port" not in decode.arguments()
    assert list(prefill.ports) == [27_001, 27_003, 27_002]


def test_a_cpu_gets_the_shims_and_an_accelerator_none(decode: SglangProgram) -> None:
    with_gpu = replace(decode, on_cpu=False)
    assert str(SHIMS) in decode.variables()["PYTHONPATH"]
    assert decode.variables()["SGLANG_USE_CPU_ENGINE"] == "1"
    assert str(SHIMS) not in with_gpu.variables()["PYTHONPATH"]
    assert "SGLANG_USE_CPU_ENGINE" not in with_gpu.variables()
    assert {"--device", "torch_native"} & set(with_gpu.arguments()) == set()


def test_other_knobs_come_on_top_of_the_plan_s(decode: SglangProgram) -> None:
    other = decode.with_environment({"SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "soon"})
    assert other.variables()["SGLANG_DISAGGREGATION_WAITING_TIMEOUT"] == "soon"
    assert decode.variables()["SGLANG_DISAGGREGATION_WAITING_TIMEOUT"] == "8"


def titled(title: str, undo: ExitStack) -> ProcessId:
    script = f'exec -a "{title}" sleep 60'
    process = subprocess.Popen(["bash", "-c", script])
    undo.callback(process.wait)
    undo.callback(process.kill)
    found = identify(process.pid)
    assert found is not None
    cmdline = Path(f"/proc/{process.pid}/cmdline")
    until("it has its title", lambda: cmdline.read_text().startswith(title))
    return found


def test_parts_are_known_by_the_titles_that_the_processes_give_themselves() -> None:
    anatomy = SglangAnatomy()
    with ExitStack() as undo:
        titles = ("python", "python", "sglang::scheduler", "sglang::detokenizer")
        front, tracker, engine, detokenizer = (titled(title, undo) for title in titles)
        alive = [front, tracker, engine, detokenizer]
        named = anatomy.named(alive)
        assert named == {
            "front": front, "child": tracker, "engine": engine, "detokenizer": detokenizer,
        }  # fmt: skip
        assert list(anatomy.engine(alive)) == [engine]
    assert list(anatomy.engine([front])) == []
