"""Freezing: proven by the kernel's word, undone by itself, refused clearly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stack import freezer
from stack.freezer import CannotFreeze, CannotThaw
from stack.frost import Frost
from stack.guardian import Guardian
from stack.process_table import ProcessId
from tests.stack.script import Script
from tests.stack.until import until

HOWS = ["signal", "cgroup"]


@pytest.fixture
def processes(guardian: Guardian, tmp_path: Path) -> Iterator[list[ProcessId]]:
    script = Script(guardian, tmp_path)
    made = [script.start(tmp_path / "log") for _ in range(2)]
    yield made
    for one in made:
        one.signal(9)


@pytest.fixture
def frost(guardian: Guardian) -> Iterator[Frost]:
    made = Frost(guardian)
    yield made
    made.thaw_all()


def require(how: str) -> str:
    if how == "cgroup" and freezer.cgroup_root() is None:
        pytest.skip("no cgroup freezer that we may write")
    return {"signal": "T", "cgroup": "FROZEN"}[how]


@pytest.mark.parametrize("how", HOWS)
def test_a_freeze_is_proven_by_each_process_s_state_and_gone_after_the_thaw(
    frost: Frost, processes: list[ProcessId], how: str
) -> None:
    still = require(how)
    states = frost.freeze("decode-0", "whole", how, processes)
    assert states == {str(one.pid): still for one in processes}
    assert frost.state("decode-0", "whole", how) == states
    frost.thaw("decode-0", "whole", how)
    assert frost.state("decode-0", "whole", how) == {}
    until("they run again", lambda: all(one.state in "RS" for one in processes))


@pytest.mark.parametrize("how", HOWS)
def test_somebody_else_s_thaw_is_seen(frost: Frost, processes: list[ProcessId], how: str) -> None:
    require(how)
    frost.freeze("decode-0", "whole", how, processes)
    if how == "signal":
        processes[0].signal(18)
    else:
        root = freezer.cgroup_root()
        assert root is not None
        for group in root.glob("pdchaos-*-decode-0-*"):
            freezer.thaw_group(group)
    until("it is seen", lambda: "S" in frost.state("decode-0", "whole", how).values())


def test_a_thaw_of_a_node_undoes_both_ways_and_of_nothing_does_nothing(
    frost: Frost, processes: list[ProcessId]
) -> None:
    require("cgroup")
    frost.freeze("decode-0", "engine", "signal", processes[:1])
    frost.freeze("decode-0", "whole", "cgroup", processes)
    frost.thaw_node("decode-1")
    assert frost.state("decode-0", "whole", "cgroup")
    frost.thaw_node("decode-0")
    until("they run again", lambda: all(one.state in "RS" for one in processes))


def _leave(path: Path) -> None:
    """What removing a group comes to when the kernel does not let it go in time."""
    assert path.exists()


def test_a_cgroup_that_does_not_go_is_no_thaw_and_stays_the_guardian_s(
    frost: Frost, processes: list[ProcessId], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a healed experiment would go on with a frozen node, and nobody would thaw it later."""
    require("cgroup")
    frost.freeze("decode-0", "whole", "cgroup", processes)
    with monkeypatch.context() as stuck:
        stuck.setattr(freezer, "remove_group", _leave)
        with pytest.raises(CannotThaw, match=r"decode-0: .* is still there"):
            frost.thaw("decode-0", "whole", "cgroup")
    assert set(frost.state("decode-0", "whole", "cgroup").values()) == {"FROZEN"}
    frost.thaw("decode-0", "whole", "cgroup")
    until("they run again", lambda: all(one.state in "RS" for one in processes))


def _deaf(_one: ProcessId, _number: int) -> bool:
    """A signal that was sent and has no effect yet."""
    return True


def test_a_thaw_that_does_not_take_is_no_thaw(
    frost: Frost, processes: list[ProcessId], monkeypatch: pytest.MonkeyPatch
) -> None:
    frost.freeze("decode-0", "whole", "signal", processes)
    with monkeypatch.context() as deaf:
        deaf.setattr(ProcessId, "signal", _deaf)
        deaf.setattr("stack.frost._THAW_MAX_S", 0.05)
        with pytest.raises(CannotThaw, match=r"decode-0: still stopped 0\.05 s after SIGCONT"):
            frost.thaw("decode-0", "whole", "signal")
    assert set(frost.state("decode-0", "whole", "signal").values()) == {"T"}


def test_a_freeze_that_does_not_take_freezes_nothing(
    frost: Frost, processes: list[ProcessId], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProcessId, "signal", _deaf)
    monkeypatch.setattr("stack.frost._FREEZE_MAX_S", 0.05)
    with pytest.raises(CannotFreeze, match=r"still not stopped after 0\.05 s"):
        frost.freeze("decode-0", "whole", "signal", processes)
    assert frost.state("decode-0", "whole", "signal") == {}


def test_freezing_nobody_and_freezing_twice_are_refused(
    frost: Frost, processes: list[ProcessId]
) -> None:
    with pytest.raises(CannotFreeze, match="decode-0 is down"):
        frost.freeze("decode-0", "whole", "signal", [])
    frost.freeze("decode-0", "whole", "signal", processes)
    with pytest.raises(ValueError, match="already frozen"):
        frost.freeze("decode-0", "whole", "signal", processes)
    with pytest.raises(ValueError, match="expected one of signal, cgroup"):
        frost.freeze("decode-0", "whole", "ice", processes)


def test_a_machine_without_a_cgroup_freezer_says_so(
    frost: Frost, processes: list[ProcessId], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freezer, "cgroup_root", lambda: None)
    with pytest.raises(CannotFreeze, match="no cgroup freezer"):
        frost.freeze("decode-0", "whole", "cgroup", processes)


def test_the_second_version_of_cgroups_freezes_too(
    guardian: Guardian, processes: list[ProcessId]
) -> None:
    root = next(
        (
            root
            for root in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
            if (root / "cgroup.controllers").exists()
        ),
        None,
    )
    if root is None:
        pytest.skip("no version 2 hierarchy is mounted here")
    group = root / f"pdchaos-test-{guardian.pid}"
    guardian.keep_cgroup(group)
    try:
        freezer.freeze_group(group, processes, 2.0)
    except OSError as error:
        pytest.skip(f"the version 2 hierarchy is not ours to write: {error}")
    assert freezer.is_frozen(group)
    freezer.remove_group(group)
    assert not group.exists()
    assert all(one.alive for one in processes)
