"""What Burst asks for."""

from __future__ import annotations

import pytest

from chaos.contracts import Workload
from chaos.seed import source
from chaos.workloads.burst import Burst


def test_all_requests_are_due_at_the_same_moment() -> None:
    load: Workload = Burst(requests=64, tokens=5, due_s=0.5)
    requests = load.requests(source(1, "workload"))
    assert [one.request_id for one in requests] == [f"b{index}" for index in range(64)]
    assert {(one.due_s, one.tokens_max, one.after) for one in requests} == {(0.5, 5, None)}


def test_no_two_prompts_share_their_beginning() -> None:
    requests = Burst(requests=500).requests(source(1, "workload"))
    assert len({one.prompt[:12] for one in requests}) == 500


@pytest.mark.parametrize("numbers", [{"requests": 0}, {"requests": 1, "due_s": -1}])
def test_nonsense_is_refused(numbers: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must"):
        Burst(**numbers)
