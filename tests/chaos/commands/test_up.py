"""`python -m chaos up`: a stack that answers, ends with the signal, and leaves nothing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from chaos.__main__ import main

ROOT = Path(__file__).resolve().parents[3]
READY_S = 60
DOWN_S = 20


@contextmanager
def running(*words: str) -> Generator[subprocess.Popen[str], None, None]:
    """The command, killed after READY_S so that reading its output is bounded."""
    command = [sys.executable, "-m", "chaos", "up", *words]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, process_group=0
    ) as process:
        killer = Timer(READY_S, process.kill)
        killer.start()
        try:
            yield process
        finally:
            killer.cancel()
            process.kill()


def told_until(process: subprocess.Popen[str], last: str) -> str:
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith(last):
            return "".join(lines)
    raise AssertionError(f"ended before it said {last!r}: {lines}")


def answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/health", timeout=5) as answer:  # noqa: S310 - our stack's own address
            return answer.status == 200
    except URLError:
        return False


def to_it_alone(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)


def to_its_group(process: subprocess.Popen[str]) -> None:
    """What a terminal does on Ctrl-C: everything in the foreground hears it."""
    os.killpg(process.pid, signal.SIGINT)


@pytest.mark.parametrize("end", [to_it_alone, to_its_group])
def test_it_answers_where_it_says_and_ends_with_the_signal(
    end: Callable[[subprocess.Popen[str]], None],
) -> None:
    with running("--topology", "1p1d", "--guards-off", "bootstrap_timeout") as process:
        told = told_until(process, "up;")
        urls = re.findall(r"(?m)^  (?!metrics)\w+ +(http://\S+)", told)
        assert len(urls) == 4
        assert "bootstrap_timeout: OFF" in told
        assert all(answers(url) for url in urls)
        end(process)
        assert process.wait(DOWN_S) == 0
        assert "down" in told_until(process, "down")
        assert not any(answers(url) for url in urls)


@pytest.mark.parametrize(
    ("variable", "value", "code", "told"),
    [
        ("PDCHAOS_PORTS", "many", 2, "PDCHAOS_PORTS: expected like 20000-20999"),
        ("PDCHAOS_PORTS", "20000-20001", 1, "no free port in 20000-20001"),
        ("TOXIPROXY_URL", "http://127.0.0.1:1", 1, "http://127.0.0.1:1/version: no answer"),
    ],
)
def test_an_environment_that_cannot_be_used_is_one_clear_line(
    variable: str, value: str, code: int, told: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "chaos", "up"],
        cwd=ROOT,
        env={**os.environ, variable: value},
        capture_output=True,
        text=True,
        timeout=READY_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert told in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--topology", "0p1d"], "topology: expected like '1p1d'"),
        (["--router", "nginx"], "router"),
        (["--guards-off", "sleep"], "guards_off"),
        (["--seed", "one"], "'one'"),
    ],
)
def test_a_plan_that_makes_no_sense_is_one_clear_line(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["up", *words]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert len(said.splitlines()) == 1
