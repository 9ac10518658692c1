"""A process that ends of itself is told of, with what it ended and what it said last."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from chaos.event import Kind, Mark
from stack.death import Witness
from stack.guardian import Guardian
from stack.node_process import NodeProcess
from stack.process_table import ProcessId, exit_code, identify, wait_any_exit
from tests.stack.script import SLEEP, WITH_CHILD, Script
from tests.stack.until import until

Make = Callable[[str], NodeProcess]
WORDS = "token=hunter2\n" + "\n".join(f"line {number}" for number in range(20))
DIES_ON_DEMAND = f"""
import os, time
while not os.path.exists("die"):
    time.sleep(0.005)
if os.path.exists("again"):
    time.sleep(100)
open("again", "w").close()
print({WORDS!r}, flush=True)
print("password: hunter2 is in the last words", flush=True)
raise SystemExit(7)
"""


def front_and_engine(alive: Sequence[ProcessId]) -> Mapping[str, ProcessId]:
    return dict(zip(("front", "engine", "child-0"), alive, strict=False))


@pytest.fixture
def told() -> list[Mark]:
    return []


@pytest.fixture
def make(guardian: Guardian, tmp_path: Path, told: list[Mark]) -> Iterator[Make]:
    made: list[NodeProcess] = []

    def node(code: str) -> NodeProcess:
        witness = Witness(told.append, front_and_engine)
        program = Script(guardian, tmp_path, code)
        made.append(NodeProcess("decode-0", program, tmp_path / "decode-0.log", witness))
        made[-1].start()
        made[-1].await_ready(5.0)
        return made[-1]

    yield node
    for one in made:
        one.stop()


def leader(node: NodeProcess) -> ProcessId:
    process = node.process
    assert process is not None
    return process


def family(node: NodeProcess) -> Sequence[ProcessId]:
    """A leader and its child, both watched from now on."""
    until("its child lives", lambda: len(node.tree()) == 2)
    node.await_ready(5.0)
    return node.tree()


def test_an_exit_is_told_with_its_code_and_its_last_words_bounded_and_redacted(
    make: Make, told: list[Mark], tmp_path: Path
) -> None:
    make(DIES_ON_DEMAND)
    (tmp_path / "die").touch()
    until("it is told", lambda: told)
    (mark,) = told
    assert (mark.kind, mark.about, mark.actor) == (Kind.DIED, "decode-0", "supervisor")
    assert (mark.detail["part"], mark.detail["exit_code"]) == ("front", 7)
    words = str(mark.detail["last_words"])
    assert words.splitlines()[0] == "line 13"
    assert words.endswith("password: <redacted> is in the last words")


def test_a_signal_from_outside_is_told_by_its_name(make: Make, told: list[Mark]) -> None:
    node = make(SLEEP)
    first = leader(node)
    first.signal(signal.SIGSEGV)
    until("it is replaced", lambda: node.process not in (None, first))
    assert [mark.detail["signal"] for mark in told] == ["SIGSEGV"]
    assert "exit_code" not in told[0].detail


def test_an_engine_that_ends_under_its_front_is_told_by_its_part(
    make: Make, told: list[Mark]
) -> None:
    node = make(WITH_CHILD)
    _, engine = family(node)
    engine.signal(signal.SIGABRT)
    until("it is told", lambda: told)
    assert (told[0].detail["part"], told[0].detail["signal"]) == ("engine", "SIGABRT")
    assert node.replacements == 0, "its front lives"


def test_what_dies_with_its_front_is_one_death(make: Make, told: list[Mark]) -> None:
    node = make(WITH_CHILD)
    front, _ = family(node)
    front.signal(signal.SIGKILL)
    until("it is replaced", lambda: node.process not in (None, front))
    assert [mark.detail["part"] for mark in told] == ["front"]


def kill(node: NodeProcess) -> None:
    node.kill()


def kill_the_engine(node: NodeProcess) -> None:
    _, engine = family(node)
    node.hold()
    engine.signal(signal.SIGKILL)
    assert wait_any_exit([engine], 5.0)


def restart(node: NodeProcess) -> None:
    node.restart(5.0)


def stop(node: NodeProcess) -> None:
    node.stop()


def die_of_a_failpoint(node: NodeProcess) -> None:
    first = leader(node)
    with node.dying_for_us():
        first.signal(signal.SIGKILL)
        until("it is replaced", lambda: node.process not in (None, first))


@pytest.mark.parametrize("order", [kill, kill_the_engine, restart, stop, die_of_a_failpoint])
def test_a_death_that_was_ordered_is_nobody_s_own(
    make: Make, told: list[Mark], order: Callable[[NodeProcess], None]
) -> None:
    node = make(WITH_CHILD)
    order(node)
    if order is stop:
        assert told == []
        return
    node.restart(5.0)
    second = leader(node)
    second.signal(signal.SIGUSR1)  # the next one is told, so the ones before had their time
    until("it is replaced", lambda: node.process not in (None, second))
    assert [mark.detail["signal"] for mark in told] == ["SIGUSR1"]


def test_a_replaced_node_is_watched_as_the_first_one_was(make: Make, told: list[Mark]) -> None:
    node = make(WITH_CHILD)
    front, _ = family(node)
    front.signal(signal.SIGKILL)
    until("it is replaced", lambda: node.process not in (None, front))
    _, engine = family(node)
    engine.signal(signal.SIGKILL)
    until("both are told", lambda: len(told) == 2)
    assert told[1].detail["part"] == "engine"


def test_how_a_process_ended_is_known_of_a_zombie_only(guardian: Guardian, tmp_path: Path) -> None:
    alive = Script(guardian, tmp_path).start(tmp_path / "log")
    assert exit_code(alive) is None
    alive.signal(signal.SIGKILL)
    assert wait_any_exit([alive], 5.0) == [alive]
    until("its parent has asked", lambda: identify(alive.pid) is None)
    assert exit_code(alive) is None
    assert guardian.exit_code(alive) == -signal.SIGKILL
