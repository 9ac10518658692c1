"""How often a stack that nobody hurt is accused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from chaos.arena import Arena, Wanted
from chaos.contracts import Workload
from chaos.experiment import Experiment
from chaos.judge import judge
from chaos.run import run, run_control
from chaos.verdict import BROKEN, Outcome, Verdict
from chaos.workloads.agents import Agents
from chaos.workloads.burst import Burst
from chaos.workloads.steady import Steady
from ci.benches.effort import Effort
from ci.benches.promise import Figure, Promise, at_most
from stack.alerts import ALERTS
from stack.drivers.embedded import EmbeddedDriver
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
    try:
        verdicts = [one for index in range(effort.fault_free) for one in _verdicts(arena, index)]
    finally:
        arena.close()
    count = effort.fault_free
    accused = [one for one in verdicts if _accuses(one)]
    told = "; ".join(f"{one}: {one.reason}" for one in accused[:TOLD_MAX])
    outcomes = ", ".join(f"{n} {name}" for name, n in Counter(map(_name, verdicts)).items())
    # None in n: with 95 % confidence the true rate is below 3/n.
    bound = "" if accused else f"; so the true rate is below {3 / count:.1%}, with 95 % confidence"
    yield Figure(FALSE, (float(len(accused)),), f"in {count}: {told or outcomes}{bound}")
    broken = [one for one in verdicts if one.outcome in BROKEN]
    why = "; ".join(one.reason for one in broken[:TOLD_MAX])
    yield Figure(UNDECIDED, (float(len(broken)),), why)


def _verdicts(arena: Arena, index: int) -> tuple[Verdict, ...]:
    """On one live stack, as long as it comes through unhurt."""
    plan = Plan()
    wanted = Wanted(repr(plan), EmbeddedDriver(plan).launch)
    workload = WORKLOADS[index % len(WORKLOADS)]
    seed = index // len(WORKLOADS) % SEEDS
    experiment = Experiment(f"fault-free {index}", seed, workload, alerts=ALERTS)
    stack = arena.stack(wanted)
    control = arena.control(wanted.plan, workload, seed, lambda: run_control(experiment, stack))
    verdicts = judge(run(experiment, stack, control))
    if any(one.outcome is not Outcome.TOLERATED for one in verdicts):
        arena.condemn()
    return verdicts


def _accuses(verdict: Verdict) -> bool:
    return verdict.outcome is not Outcome.TOLERATED and verdict.outcome not in BROKEN


def _name(verdict: Verdict) -> str:
    return verdict.outcome.value
