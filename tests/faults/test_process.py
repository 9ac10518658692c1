"""Kill, freeze and restart: the victim, the proof, and the way back, whatever the body does."""

from __future__ import annotations

from random import Random

import pytest

from chaos.contracts import Fault, Freezable, Killable
from chaos.stage import Stage
from faults.process import Freeze, Kill, Restart, Terminate
from tests.faults.toy_stack import ToyStack


class Trouble(Exception):
    """Raised by a body inside a fault."""


def deeds(stack: ToyStack, fault: Fault, seed: int = 0) -> list[str]:
    with fault.inject(stack.as_stack(), Random(seed)):
        pass
    return stack.deeds


def test_a_killed_node_is_proven_dead_and_started_again() -> None:
    stack = ToyStack()
    before = stack.pids("decode-1")
    with Kill("decode-1").inject(stack.as_stack(), Random(0)) as proof:
        assert proof.read().bit
        assert proof.read().detail == {"node": "decode-1", "killed.front": before["front"]}
        assert stack.pids("decode-1") == {}
    assert stack.deeds == ["kill decode-1", "restart decode-1"]
    assert stack.pids("decode-1") not in ({}, before)


def test_an_engine_is_killed_alone_and_its_whole_node_started_again() -> None:
    stack = ToyStack()
    with Kill("decode-1", part="engine").inject(stack.as_stack(), Random(0)):
        pass
    assert stack.deeds == ["kill decode-1 engine", "restart decode-1"]
    assert Kill("decode-1", part="engine").name == "kill decode-1 engine"


def test_a_node_that_something_else_replaced_was_killed_all_the_same() -> None:
    stack = ToyStack()
    with Kill("decode-1").inject(stack.as_stack(), Random(0)) as proof:
        stack.restart("decode-1", 1.0)
        assert proof.read().bit


def test_a_kill_without_effect_and_a_kill_of_a_node_that_is_down_prove_nothing() -> None:
    immortal = ToyStack(obeys=False)
    with Kill("decode-0").inject(immortal.as_stack(), Random(0)) as proof:
        assert not proof.read().bit
    down = ToyStack()
    down.alive["decode-0"] = {}
    with Kill("decode-0").inject(down.as_stack(), Random(0)) as proof:
        assert not proof.read().bit


@pytest.mark.parametrize(
    ("fault", "heal"),
    [
        (Kill("decode-0"), "restart decode-0"),
        (Terminate("decode-0"), "restart decode-0"),
        (Freeze("decode-0"), "thaw decode-0 whole signal"),
        (Freeze("decode-0", part="engine", how="cgroup"), "thaw decode-0 engine cgroup"),
    ],
)
def test_a_fault_heals_when_the_body_raises(fault: Fault, heal: str) -> None:
    stack = ToyStack()
    with pytest.raises(Trouble), fault.inject(stack.as_stack(), Random(0)):
        raise Trouble
    assert stack.deeds[-1] == heal
    assert stack.deeds.count(heal) == 1


@pytest.mark.parametrize("state", ["draining", "gone"])
def test_a_node_that_was_told_to_go_is_proven_by_its_state_and_started_again(state: str) -> None:
    stack = ToyStack(state=state)
    front = stack.pids("decode-1")["front"]
    with Terminate("decode-1").inject(stack.as_stack(), Random(0)) as proof:
        evidence = proof.read()
        assert evidence.bit
        assert evidence.detail == {
            "node": "decode-1",
            "pid": front,
            "start_ticks": 7,
            "state": state,
        }
    assert stack.deeds == ["terminate decode-1", "restart decode-1"]


def test_a_node_that_does_not_listen_or_is_another_one_by_now_proves_nothing() -> None:
    deaf = ToyStack(obeys=False)
    with Terminate("decode-0").inject(deaf.as_stack(), Random(0)) as proof:
        assert not proof.read().bit
    stack = ToyStack()
    with Terminate("decode-0").inject(stack.as_stack(), Random(0)) as proof:
        stack.told["start_ticks"] = 8  # the pid was used again
        assert not proof.read().bit


def test_a_role_s_victim_is_of_that_role_and_the_seed_s_choice() -> None:
    chosen = {seed: deeds(ToyStack(), Kill("decode"), seed)[0] for seed in range(20)}
    assert set(chosen.values()) == {"kill decode-0", "kill decode-1"}
    again = {seed: deeds(ToyStack(), Kill("decode"), seed)[0] for seed in range(20)}
    assert chosen == again


@pytest.mark.parametrize(
    "fault", [Kill("decode-7"), Freeze("encoder"), Restart(""), Terminate("prefill-9")]
)
def test_a_victim_that_is_not_there_is_refused_with_the_nodes_that_are(fault: Fault) -> None:
    stack = ToyStack()
    with pytest.raises(ValueError, match=r"it has router \(router\), prefill-0 \(prefill\)"):
        deeds(stack, fault)
    assert stack.deeds == []


@pytest.mark.parametrize("how", ["signal", "cgroup"])
def test_a_frozen_node_is_proven_by_its_state(how: str) -> None:
    stack = ToyStack()
    with Freeze("decode-0", how=how).inject(stack.as_stack(), Random(0)) as proof:
        assert proof.read().bit
    obstinate = ToyStack(obeys=False)
    with Freeze("decode-0", how=how).inject(obstinate.as_stack(), Random(0)) as proof:
        assert not proof.read().bit


def test_a_freeze_that_somebody_undid_is_no_freeze_and_a_death_in_it_is_one() -> None:
    stack = ToyStack()
    with Freeze("decode-0").inject(stack.as_stack(), Random(0)) as proof:
        stack.ice = {"7": "X"}  # a watchdog killed it where it stood
        assert proof.read().bit
        stack.ice = {"7": "S"}
        assert not proof.read().bit
        stack.ice = {}
        assert not proof.read().bit


def test_a_restart_is_proven_by_new_pids_and_leaves_nothing_to_heal() -> None:
    stack = ToyStack()
    with Restart("prefill-0").inject(stack.as_stack(), Random(0)) as proof:
        assert proof.read().bit
    assert stack.deeds == ["restart prefill-0"]
    same = ToyStack(obeys=False)
    with Restart("prefill-0").inject(same.as_stack(), Random(0)) as proof:
        assert not proof.read().bit


@pytest.mark.parametrize("wrong", [{"part": "half"}, {"how": "ice"}])
def test_an_impossible_freeze_is_refused_when_it_is_written(wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="expected one of"):
        Freeze("decode-0", **wrong)  # pyright: ignore[reportArgumentType] - wrong on purpose


def test_names_stages_and_needs_tell_faults_apart() -> None:
    faults: list[Fault] = [
        Kill("decode-0"),
        Restart("decode-0"),
        Freeze("decode-0"),
        Freeze("decode-0", part="engine"),
        Freeze("decode-0", how="cgroup"),
        Freeze("prefill-0", at=Stage.TRANSFER),
    ]
    assert len({fault.name for fault in faults}) == len(faults)
    assert [fault.stage for fault in faults[2:]] == [Stage.DECODE] * 3 + [Stage.TRANSFER]
    assert {fault.needs for fault in faults} == {Killable, Freezable}
