"""One seed, many sources."""

from __future__ import annotations

import pytest

from chaos.seed import source


def test_the_same_seed_and_purpose_draw_the_same() -> None:
    assert source(7, "workload").random() == source(7, "workload").random()


@pytest.mark.parametrize(("seed", "purpose"), [(8, "workload"), (7, "strike/0"), (71, "orkload")])
def test_another_seed_or_purpose_draws_something_else(seed: int, purpose: str) -> None:
    assert source(seed, purpose).random() != source(7, "workload").random()


def test_what_is_drawn_is_the_same_on_every_machine() -> None:
    assert source(7, "workload").getrandbits(64) == 10971711512549103241


def test_a_seed_that_runs_into_its_purpose_is_another_one() -> None:
    assert source(1, "1/a").random() != source(11, "a").random()


def test_randomness_without_a_purpose_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a purpose"):
        source(7, "")
