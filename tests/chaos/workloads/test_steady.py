"""What Steady asks for."""

from __future__ import annotations

import pytest

from chaos.contracts import Workload
from chaos.seed import source
from chaos.workloads.steady import Steady


def test_requests_come_at_even_intervals_with_names_in_order() -> None:
    load: Workload = Steady(requests=3, every_s=0.5, prompt_bytes=40, tokens=7)
    requests = load.requests(source(1, "workload"))
    assert [(one.request_id, one.due_s) for one in requests] == [("r0", 0), ("r1", 0.5), ("r2", 1)]
    assert {one.tokens_max for one in requests} == {7}
    assert {len(one.prompt.encode()) for one in requests} == {40}


def test_one_seed_is_one_sequence_and_another_seed_another() -> None:
    first, again, other = (Steady(4).requests(source(seed, "workload")) for seed in (1, 1, 2))
    assert first == again
    assert not {one.prompt for one in first} & {one.prompt for one in other}


def test_more_requests_do_not_change_the_first_ones() -> None:
    few, many = (Steady(count).requests(source(1, "workload")) for count in (3, 30))
    assert many[:3] == few


@pytest.mark.parametrize(
    ("numbers", "complaint"),
    [
        ({"requests": 0}, "requests must be above zero"),
        ({"requests": -1}, "requests must be above zero"),
        ({"requests": 1, "tokens": 0}, "tokens must be above zero"),
        ({"requests": 1, "every_s": -0.1}, "every_s must not be negative"),
        ({"requests": 1, "prompt_bytes": 11}, "nonce of 12 bytes"),
    ],
)
def test_nonsense_is_refused(numbers: dict[str, int], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Steady(**numbers)
