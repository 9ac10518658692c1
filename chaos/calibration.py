"""Owns what a stack's pace, and its control, make of an experiment that was written for any stack.

Suites are written for the embedded stack, whose times are seconds. A real engine on a CPU is
slower, and a server of its own takes a minute to start. Nothing of the experiment changes but its
times and the length of its replies, and no verdict is allowed that was not allowed before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from random import Random

from chaos.clock import seconds
from chaos.contracts import Request, Workload
from chaos.experiment import At, Experiment, Strike
from chaos.history import History
from chaos.specification import Budgets
from chaos.traits import Pace, Restarting

MARGIN_S = 10.0  # what an undoing may take beside the restart of a node


@dataclass(frozen=True, slots=True)
class Fitted:
    """A workload at another pace: due later, replies longer (a strike must still find them) and
    clipped.

    What was due `after_s` or later was meant to come after the restarts of a strike, which take
    `later_s` here.
    """

    load: Workload
    factor: float
    tokens_max: int
    after_s: float = 0.0
    later_s: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.load.name} (at most {self.tokens_max}; times {self.factor:g})"

    def requests(self, rng: Random) -> Sequence[Request]:
        return [self._fitted(one) for one in self.load.requests(rng)]

    def _fitted(self, request: Request) -> Request:
        due_s = request.due_s * self.factor
        if request.after is None and request.due_s >= self.after_s:
            due_s += self.later_s
        tokens_max = min(round(request.tokens_max * self.factor), self.tokens_max)
        return replace(request, due_s=due_s, tokens_max=tokens_max)


def paced(experiment: Experiment, pace: Pace) -> Experiment:
    """The same experiment with every time stretched to this pace."""
    after_s, later_s = _restarts(experiment.strikes, pace)
    load = Fitted(experiment.workload, pace.factor, pace.tokens_max, after_s, later_s)
    return replace(
        experiment,
        workload=load,
        strikes=tuple(_stretched(one, pace) for one in experiment.strikes),
        budgets=_budgets(experiment.budgets, pace),
    )


def calibrated(budgets: Budgets, control: History) -> Budgets:
    """Add what the control's slowest request took to every bound that counts from a request's
    beginning.

    A stack that needs four seconds for a reply without any fault must not be called hung after
    three with one. `service_s` and `delay_s` say how much later than its own control a request may
    be: they hold what it needs already.
    """
    spans = [
        seconds(life.settled.at_ns - life.sent.at_ns)
        for life in control.lives.values()
        if life.settled is not None
    ]
    slowest_s = max(spans, default=0.0)
    bounds = ("settle_s", "detect_s", "converge_s", "recover_s")
    return replace(budgets, **{name: getattr(budgets, name) + slowest_s for name in bounds})


def _stretched(strike: Strike, pace: Pace) -> Strike:
    on = At(strike.on.at_s * pace.factor) if isinstance(strike.on, At) else strike.on
    return replace(strike, on=on, for_s=strike.for_s * pace.factor)


def _budgets(budgets: Budgets, pace: Pace) -> Budgets:
    stretched = {one.name: getattr(budgets, one.name) * pace.factor for one in fields(budgets)}
    stretched["heal_s"] = max(stretched["heal_s"], pace.restart_s + MARGIN_S)
    return Budgets(**stretched)


def _restarts(strikes: Sequence[Strike], pace: Pace) -> tuple[float, float]:
    """From which due on a request waits for a strike's restarts, and how long they take."""
    found = [
        (one.on.at_s + one.for_s, one.fault.restarts * pace.usual_restart_s)
        for one in strikes
        if isinstance(one.on, At) and isinstance(one.fault, Restarting)
    ]
    return max(found, default=(0.0, 0.0))
