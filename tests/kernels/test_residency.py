"""The residency scheduler on tiny kernels: what is a deadlock, and what only looks like one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Answers = dict[str, Any]
Ask = Callable[[str], Answers]


@pytest.fixture
def tiny(answers: Ask) -> Answers:
    return answers("tiny_experiments.py")


@pytest.mark.parametrize(
    "kernel",
    ["barrier", "barrier_by_poll", "barrier_by_volatile_load", "barrier_by_plain_load"],
)
def test_a_barrier_of_nine_hangs_with_eight_slots_and_passes_with_nine(
    tiny: Answers, kernel: str
) -> None:
    short, enough = tiny["barriers"][f"{kernel} 8"], tiny["barriers"][f"{kernel} 9"]

    assert (short["ending"], short["never"], len(short["stuck"])) == ("deadlock", 1, 8)
    assert enough["out"] == [1.0] * 9


def test_the_answer_names_cta_line_counter_value_and_target(tiny: Answers) -> None:
    stuck = tiny["barriers"]["barrier 8"]["stuck"][0]
    text = tiny["barriers"]["barrier 8"]["text"]

    assert stuck["where"].startswith("waiting_kernels.py:")
    assert stuck["source"] == 'while tl.atomic_add(counter, 0, sem="acquire") < total:'
    assert (stuck["counter"], stuck["value"]) == ("counter[0]", "8")
    assert stuck["target"] == "total = 9 or more"
    assert "8 CTAs are stuck, 1 can never start" in text
    assert "deadlock, proven: grid 9, at most 8 resident, launched in-order" in text


def test_a_poll_tells_what_it_waits_for(tiny: Answers) -> None:
    stuck = tiny["barriers"]["barrier_by_poll 8"]["stuck"][0]

    assert (stuck["counter"], stuck["value"], stuck["target"]) == ("counter[0]", "8", "9")


def test_one_waiting_owner_hangs_only_if_it_holds_the_last_slot(tiny: Answers) -> None:
    owner = tiny["one_owner"]

    assert owner["in-order"]["ending"] == "deadlock"
    assert owner["in-order"]["never"] == 15
    assert owner["reverse"]["ending"] == "finished"
    assert owner["two resident"]["ending"] == "finished"


def test_a_lock_is_no_deadlock_however_long_it_is_waited_for(tiny: Answers) -> None:
    locks = tiny["locks"]

    assert locks["lock"]["out"] == [30.0]
    assert locks["lock, any interleaving"]["out"] == [30.0]


def test_a_lock_that_is_never_given_back_is_a_deadlock(tiny: Answers) -> None:
    lost = tiny["locks"]["lost lock"]

    assert lost["ending"] == "deadlock"
    assert (lost["stuck"][0]["counter"], lost["stuck"][0]["target"]) == ("held[0]", "0")


def test_a_race_loses_updates_once_plain_stores_give_way(tiny: Answers) -> None:
    assert tiny["race"]["at loads"]["out"] == [30.0]
    assert tiny["race"]["at every access"]["out"][0] < 30.0


@pytest.mark.parametrize(
    "kernel", ["bounded_while", "bounded_for", "bounded_for_with_an_overwritten_variable"]
)
def test_a_spin_that_counts_its_turns_is_never_called_a_deadlock(
    tiny: Answers, kernel: str
) -> None:
    assert tiny["bounded"][kernel]["out"] == [50.0] * 4


def test_a_poll_with_a_timeout_runs_into_it_on_virtual_time(tiny: Answers) -> None:
    assert tiny["bounded"]["timed_poll"]["out"] == [7.0] * 4  # two virtual seconds each


def test_a_poll_that_may_still_time_out_is_not_stuck_while_others_count(tiny: Answers) -> None:
    assert tiny["bounded"]["poll and spin"]["out"] == [7.0, 0.0, 0.0, 0.0]


def test_a_spin_that_outlasts_the_budget_is_not_proven(tiny: Answers) -> None:
    run = tiny["bounded"]["too many turns"]

    assert run["ending"] == "unfinished"
    assert "not proven" in run["text"]
    assert "a spin may be counting" in run["text"]


def test_timed_polls_that_repeat_for_ever_are_a_deadlock(tiny: Answers) -> None:
    assert tiny["unbounded"]["timed_polls_for_ever"]["ending"] == "deadlock"


def test_storing_what_is_there_already_is_no_progress(tiny: Answers) -> None:
    run = tiny["unbounded"]["heartbeat_of_equal_stores"]

    assert run["ending"] == "deadlock"
    assert run["stuck"][0]["target"] == "anything but 0"
    assert "all were started, so more residency would not help" in run["text"]


def test_memory_that_grows_for_ever_is_unfinished_and_not_a_deadlock(tiny: Answers) -> None:
    run = tiny["unbounded"]["heartbeat_that_counts"]

    assert run["ending"] == "unfinished"
    assert "memory still changes" in run["text"]


def test_memory_that_toggles_is_a_livelock_and_not_proven(tiny: Answers) -> None:
    run = tiny["unbounded"]["heartbeat_that_toggles"]

    assert run["ending"] == "livelock"
    assert "not proven" in run["text"]


def test_a_value_read_before_the_last_change_does_not_make_a_deadlock(tiny: Answers) -> None:
    assert tiny["two_flags"] == ["finished"] * 20
    assert tiny["three_flags"] == ["finished"] * 12
    assert tiny["stale_twice"] == ["finished"] * 32


def test_program_ids_survive_switching_in_three_dimensions(tiny: Answers) -> None:
    expected = [x + 10 * y + 100 * z for z in range(5) for y in range(4) for x in range(3)]

    assert tiny["indices"] == expected
