"""A node's process: clear errors at its start, replaced in place, held down by a fault."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stack import freezer, node_process
from stack.guardian import Guardian
from stack.node_process import NodeFailed, NodeProcess
from stack.process_table import ProcessId, group_members
from tests.stack.script import DEAF, WITH_CHILD, Script
from tests.stack.until import until

Make = Callable[[Script], NodeProcess]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[NodeProcess] = []

    def node(program: Script) -> NodeProcess:
        made.append(NodeProcess("decode-0", program, tmp_path / "decode-0.log"))
        return made[-1]

    yield node
    for one in made:
        one.stop()


def running(node: NodeProcess) -> ProcessId:
    process = node.process
    assert process is not None
    return process


def test_a_process_that_exits_at_its_start_is_an_error_with_its_last_20_lines(
    make: Make, guardian: Guardian, tmp_path: Path
) -> None:
    code = "print(*range(30), sep='\\n'); raise SystemExit('a bad knob')"
    node = make(Script(guardian, tmp_path, code, flag="never"))
    node.start()
    with pytest.raises(NodeFailed, match="decode-0 exited with code 1 at its start") as failed:
        node.await_ready(5.0)
    lines = str(failed.value).splitlines()[1:]
    assert len(lines) == 20
    assert lines[-1] in {"a bad knob", "29"}  # two streams into one log


def test_a_process_that_never_answers_is_an_error_with_the_bound(
    make: Make, guardian: Guardian, tmp_path: Path
) -> None:
    node = make(Script(guardian, tmp_path, flag="never"))
    node.start()
    with pytest.raises(NodeFailed, match=r"did not become ready in 0\.1 s"):
        node.await_ready(0.1)


def test_a_port_in_use_is_named_before_anything_is_started(
    make: Make, guardian: Guardian, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        node = make(Script(guardian, tmp_path, ports=(port,)))
        with pytest.raises(NodeFailed, match=f"port {port} is already in use"):
            node.start()
    assert node.process is None


def test_a_dead_process_is_replaced_in_place(
    make: Make, guardian: Guardian, tmp_path: Path
) -> None:
    node = make(Script(guardian, tmp_path))
    node.start()
    node.await_ready(5.0)
    first = running(node)
    first.signal(signal.SIGKILL)
    until("it is replaced", lambda: node.process not in (None, first))
    assert node.replacements == 1


def test_a_killed_node_stays_down_until_it_is_restarted(
    make: Make, guardian: Guardian, tmp_path: Path
) -> None:
    node = make(Script(guardian, tmp_path, WITH_CHILD))
    node.start()
    node.await_ready(5.0)
    until("its child lives", lambda: len(node.tree()) == 2)
    died = node.kill()
    assert len(died) == 2
    assert not any(one.alive for one in died)
    time.sleep(0.3)  # nothing to wait for: this is the absence of an event
    assert node.process is None
    assert node.replacements == 0
    node.restart(5.0)
    first = running(node)
    first.signal(signal.SIGKILL)
    until("it is watched again", lambda: node.process not in (None, first))


def test_what_was_forked_while_we_looked_is_ended_too(
    make: Make, guardian: Guardian, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it keeps the node's ports, and the node cannot be started again."""
    node = make(Script(guardian, tmp_path, WITH_CHILD))
    node.start()
    node.await_ready(5.0)
    until("its child lives", lambda: len(node.tree()) == 2)
    leader, child = node.tree()
    first = iter([True])

    def before_it_forked(_: int) -> list[ProcessId]:
        return [leader]

    def members(group: int) -> list[ProcessId]:
        return [] if next(first, False) else group_members(group)

    monkeypatch.setattr(node_process, "tree", before_it_forked)
    monkeypatch.setattr(node_process, "group_members", members)
    assert node.kill() == [leader, child]
    assert not child.alive


def test_an_orphan_of_a_dead_leader_is_ended_before_the_leader_is_replaced(
    make: Make, guardian: Guardian, tmp_path: Path
) -> None:
    node = make(Script(guardian, tmp_path, WITH_CHILD))
    node.start()
    node.await_ready(5.0)
    until("its child lives", lambda: len(node.tree()) == 2)
    leader, orphan = node.tree()
    leader.signal(signal.SIGKILL)
    until("it is replaced", lambda: node.process not in (None, leader))
    assert not orphan.alive


def test_a_process_that_always_dies_is_given_up_with_its_last_words(
    make: Make, guardian: Guardian, tmp_path: Path
) -> None:
    code = "import os, time\nif os.path.exists('bad'): raise SystemExit('no')\ntime.sleep(100)"
    node = make(Script(guardian, tmp_path, code))
    node.start()
    node.await_ready(5.0)
    (tmp_path / "bad").touch()
    running(node).signal(signal.SIGKILL)
    until("it is given up", lambda: node.failure is not None)
    assert "exited with code 1" in str(node.failure)
    assert node.replacements <= 3


def test_one_that_ignores_sigterm_is_killed_in_the_bound(
    make: Make, guardian: Guardian, tmp_path: Path
) -> None:
    node = make(Script(guardian, tmp_path, DEAF, flag="deaf"))
    node.start()
    node.await_ready(5.0)
    process = running(node)
    node.stop()
    assert not process.alive


def test_a_frozen_one_that_cannot_die_is_no_reason_to_give_up(
    make: Make, guardian: Guardian, tmp_path: Path
) -> None:
    root = freezer.cgroup_root()
    if root is None or not (root / "tasks").exists():
        pytest.skip("only the first version of the freezer keeps a killed process")
    node = make(Script(guardian, tmp_path, WITH_CHILD))
    node.start()
    node.await_ready(5.0)
    until("its child lives", lambda: len(node.tree()) == 2)
    leader, child = node.tree()
    group = root / f"pdchaos-test-{guardian.pid}-{leader.pid}"
    guardian.keep_cgroup(group)
    freezer.freeze_group(group, [child], 2.0)
    leader.signal(signal.SIGKILL)
    until("the leader is dead", lambda: not leader.alive)
    freezer.remove_group(group)
    until("it is replaced", lambda: node.process not in (None, leader))
    assert node.failure is None
