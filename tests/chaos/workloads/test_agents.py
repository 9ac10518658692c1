"""What Agents ask for."""

from __future__ import annotations

import string
from typing import Any

import pytest

from chaos.contracts import Request, Workload
from chaos.seed import source
from chaos.workloads.agents import Agents


def rounds(agents: int = 2, per_agent: int = 3) -> dict[str, Request]:
    load: Workload = Agents(agents, per_agent, pause_s=0.25, tokens=9, tries_max=2)
    return {one.request_id: one for one in load.requests(source(1, "workload"))}


def agents(field: str, value: float) -> Agents:
    fields: dict[str, Any] = {"agents": 1, "rounds": 1, field: value}
    return Agents(**fields)


def test_rounds_are_chained_within_an_agent_only() -> None:
    assert {name: one.after for name, one in rounds().items()} == {
        "a0.0": None,
        "a0.1": "a0.0",
        "a0.2": "a0.1",
        "a1.0": None,
        "a1.1": "a1.0",
        "a1.2": "a1.1",
    }


def test_a_later_round_waits_for_its_tool_and_the_first_for_nothing() -> None:
    assert {name: one.due_s for name, one in rounds(agents=1).items()} == {
        "a0.0": 0.0,
        "a0.1": 0.25,
        "a0.2": 0.25,
    }


def test_all_rounds_of_an_agent_have_its_routing_key_and_no_other() -> None:
    keys = {name: one.routing_key for name, one in rounds().items()}
    assert keys == {name: f"agent-{name[1]}" for name in keys}


def test_every_round_brings_text_that_no_other_round_brings() -> None:
    prompts = [one.prompt for one in rounds(agents=20, per_agent=10).values()]
    assert len(set(prompts)) == len(prompts)


def test_prompts_are_printable_ascii_so_that_every_byte_is_one_token() -> None:
    printable = set(string.ascii_letters + string.digits + string.punctuation + " ")
    assert all(set(one.prompt) <= printable for one in rounds().values())


def test_a_tools_result_has_the_size_it_was_given() -> None:
    (first, second) = Agents(1, 2, tool_bytes=200).requests(source(1, "workload"))
    assert (len(first.prompt), len(second.prompt)) == (160, 200)


def test_each_round_may_be_tried_as_often_as_told() -> None:
    assert {one.tries_max for one in rounds().values()} == {2}


@pytest.mark.parametrize(
    ("field", "value"),
    [("agents", 0), ("rounds", 0), ("tokens", 0), ("tries_max", 0)],
)
def test_nonsense_is_refused_by_its_name(field: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{field} must be above zero"):
        agents(field, value)


def test_a_tool_cannot_end_before_it_began() -> None:
    with pytest.raises(ValueError, match="pause_s must not be negative"):
        Agents(1, 1, pause_s=-0.1)


@pytest.mark.parametrize(("field", "size_bytes"), [("prompt_bytes", 11), ("tool_bytes", 18)])
def test_a_text_too_short_for_its_nonce_is_refused(field: str, size_bytes: int) -> None:
    with pytest.raises(ValueError, match="nonce of 12 bytes"):
        agents(field, size_bytes)


def test_agents_called_otherwise_live_on_the_keys_that_they_were_given() -> None:
    load = Agents(2, 2, called="long", keys=("x", "y"), due_s=1.5)
    asked = load.requests(source(1, "workload"))
    names = ["long0.0", "long0.1", "long1.0", "long1.1"]
    assert [one.request_id for one in asked] == names
    assert [one.routing_key for one in asked] == ["x", "x", "y", "y"]
    assert [one.due_s for one in asked] == [1.5, load.pause_s, 1.5, load.pause_s]


def test_a_key_for_each_agent_or_none_at_all() -> None:
    with pytest.raises(ValueError, match="keys: expected one for each of 2"):
        Agents(2, 2, keys=("x",))


def test_the_context_of_a_round_is_all_that_was_said_before_it_and_its_own_text() -> None:
    load = Agents(1, 3, tokens=9, prompt_bytes=100, tool_bytes=50)
    prompts = [len(one.prompt) for one in load.requests(source(1, "workload"))]
    assert [load.context_bytes(index) for index in range(3)] == [
        prompts[0],
        prompts[0] + 9 + prompts[1],
        prompts[0] + 9 + prompts[1] + 9 + prompts[2],
    ]
