"""Tiny kernels under the residency scheduler; see experiments.py and test_residency.py."""
# pyright: reportMissingTypeStubs=false
#   (because Triton has none)

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
import waiting_kernels
from experiments import experiment, main, tried
from torch import Tensor

from kernels.residency import Rules, scheduled

Kernel = Any  # a compiled or interpreted Triton function: no public type
KERNELS = cast("dict[str, Kernel]", vars(waiting_kernels))


def counters(size: int = 1) -> Tensor:
    return torch.zeros(size, dtype=torch.int32)


def barrier(name: str, ctas: int) -> Callable[[], Tensor]:
    def launch() -> Tensor:
        out = counters(ctas)
        KERNELS[name][ctas,](counters(), out, ctas)
        return out

    return launch


BARRIERS = ("barrier", "barrier_by_poll", "barrier_by_volatile_load", "barrier_by_plain_load")


@experiment
def barriers() -> object:
    return {
        f"{name} {resident}": tried(barrier(name, 9), Rules(resident))
        for name in BARRIERS
        for resident in (8, 9)
    }


@experiment
def one_owner() -> object:
    launch = barrier("owner_waits", 16)
    return {order: tried(launch, Rules(1, order=order)) for order in ("in-order", "reverse")} | {
        "two resident": tried(launch, Rules(2))
    }


@experiment
def locks() -> object:
    def locked(name: str) -> Callable[[], Tensor]:
        def launch() -> Tensor:
            count = counters()
            KERNELS[name][6,](counters(), count, 5)
            return count

        return launch

    return {
        "lock": tried(locked("lock"), Rules(4)),
        "lock, any interleaving": tried(
            locked("lock"), Rules(4, seed=3, shuffled_turns=True, every_access=True)
        ),
        "lost lock": tried(locked("lost_lock"), Rules(4)),
    }


@experiment
def race() -> object:
    def launch() -> Tensor:
        count = counters()
        KERNELS["racy_count"][6,](count, 5)
        return count

    return {
        "at loads": tried(launch, Rules(4)),
        "at every access": tried(launch, Rules(4, every_access=True)),
    }


def spin(name: str, *more: int) -> Callable[[], Tensor]:
    def launch() -> Tensor:
        out = counters(4)
        KERNELS[name][4,](counters(), out, *more)
        return out

    return launch


@experiment
def bounded() -> object:
    counted = ("bounded_while", "bounded_for", "bounded_for_with_an_overwritten_variable")
    found = {name: tried(spin(name, 50), Rules(4)) for name in counted}
    found["timed_poll"] = tried(spin("timed_poll"), Rules(4))
    found["poll and spin"] = tried(spin("timed_poll_beside_a_counted_spin", 20), Rules(4))
    found["too many turns"] = tried(spin("bounded_while", 100_000), Rules(4, steps_max=1_000))
    return found


@experiment
def unbounded() -> object:
    names = (
        "timed_polls_for_ever", "heartbeat_of_equal_stores", "heartbeat_that_counts",
        "heartbeat_that_toggles",
    )  # fmt: skip
    return {name: tried(spin(name), Rules(4, steps_max=1_000)) for name in names}


@experiment
def two_flags() -> object:
    def launch() -> Tensor:
        out = counters()
        KERNELS["two_flags"][2,](counters(2), out)
        return out

    return [tried(launch, Rules(2, seed=s, shuffled_turns=True))["ending"] for s in range(20)]


@experiment
def three_flags() -> object:
    def late(turns: int) -> Callable[[], Tensor]:
        def launch() -> Tensor:
            out = counters()
            KERNELS["three_flags"][2,](torch.tensor([0, 1, 1], dtype=torch.int32), out, turns)
            return out

        return launch

    return [tried(late(turns), Rules(2))["ending"] for turns in range(12)]


@experiment
def stale_twice() -> object:
    def late(turns: int, pause: int) -> Callable[[], Tensor]:
        def launch() -> Tensor:
            out, flags = counters(), torch.tensor([0, 1, 1, 0], dtype=torch.int32)
            KERNELS["stale_twice"][2,](flags, out, turns, pause)
            return out

        return launch

    return [
        tried(late(turns, pause), Rules(2))["ending"]
        for turns in range(4, 12)
        for pause in range(4)
    ]


@experiment
def indices() -> object:
    out = counters(60)
    with scheduled(Rules(7, order="seeded", seed=5, shuffled_turns=True)):
        KERNELS["indices"][3, 4, 5](out, counters())
    return [int(value) for value in out]


if __name__ == "__main__":
    main()
