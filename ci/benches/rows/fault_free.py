"""How often a stack that nobody hurt is accused."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NoReturn

from chaos.arena import Arena, Wanted
from chaos.contracts import Workload
from chaos.play import Play
from chaos.pytest_plugin import DRIVERS, Driver
from chaos.verdict import BROKEN, NotProven, Outcome, Verdict
from chaos.workloads.agents import Agents
from chaos.workloads.burst import Burst
from chaos.workloads.steady import Steady
from ci.benches.effort import Effort, NotMeasured
from ci.benches.promise import Figure, Promise, at_most
from stack.alerts import ALERTS
from stack.plan import Plan

FALSE: Final = "false verdicts in fault-free experiments"
UNDECIDED: Final = "fault-free experiments that could not decide"
PROMISES = (Promise(FALSE, at_most(0, "")), Promise(UNDECIDED))
WORKLOADS: Final[tuple[Workload, ...]] = (
    Steady(requests=3, every_s=0.05, tokens=12),
    Burst(requests=4, tokens=12),
    Agents(agents=2, rounds=2, pause_s=0.02, tokens=12),
)
SEEDS: Final = 4  # as many controls for each workload; each is played once
TOLD_MAX: Final = 3


def measure(effort: Effort) -> Iterator[Figure]:
    arena = Arena()
    driver = DRIVERS[effort.stack](Plan())
    with tempfile.TemporaryDirectory(prefix="pdchaos-bench-") as folder, closing(arena):
        plays = (_play(arena, driver, index, Path(folder)) for index in range(effort.fault_free))
        verdicts = [one for played in plays for one in played]
    count = effort.fault_free
    accused = [one for one in verdicts if _accuses(one)]
    told = "; ".join(f"{one}: {one.reason}" for one in accused[:TOLD_MAX])
    outcomes = ", ".join(f"{n} {name}" for name, n in Counter(map(_name, verdicts)).items())
    # None in n: with 95 % confidence the true rate is below 3/n.
    bound = "" if accused else f"; so the true rate is below {3 / count:.1%}, with 95 % confidence"
    yield Figure(
        FALSE, (float(len(accused)),), f"in {count} on {effort.stack}: {told or outcomes}{bound}"
    )
    broken = [one for one in verdicts if one.outcome in BROKEN]
    why = "; ".join(one.reason for one in broken[:TOLD_MAX])
    yield Figure(UNDECIDED, (float(len(broken)),), why)


def _play(arena: Arena, driver: Driver, index: int, folder: Path) -> tuple[Verdict, ...]:
    """As a suite does, on one live stack as long as it comes through unhurt."""
    heard: list[Verdict] = []
    play = Play(
        name=f"fault-free {index}",
        arena=arena,
        wanted=Wanted(repr(driver.plan), driver.launch),
        seed=index // len(WORKLOADS) % SEEDS,
        file=folder / f"{index}.jsonl",
        reproduce="ci/bench fault_free",
        skip=_unexpected,
        finished=lambda played: heard.extend(played.verdicts),
        alerts=ALERTS,
    )
    with suppress(AssertionError, NotProven):  # counted here, by the verdicts
        play(WORKLOADS[index % len(WORKLOADS)])
    if not heard:
        raise NotMeasured(f"fault-free experiment {index} ended without a verdict")
    return tuple(heard)


def _unexpected(why: str) -> NoReturn:
    raise NotMeasured(f"a fault-free experiment needs no ability: {why}")


def _accuses(verdict: Verdict) -> bool:
    return verdict.outcome is not Outcome.TOLERATED and verdict.outcome not in BROKEN


def _name(verdict: Verdict) -> str:
    return verdict.outcome.value
