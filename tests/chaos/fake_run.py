"""Short runs of the fake stack, with bounds of a fraction of a second."""

from __future__ import annotations

from chaos.event import Kind
from chaos.experiment import Experiment, Strike
from chaos.history import History
from chaos.judge import judge
from chaos.run import run, run_control
from chaos.specification import Alert, Budgets
from chaos.verdict import Outcome
from tests.chaos.fake_stack import Crowd, FakeClients, FakeStack

BUDGETS = Budgets(
    service_s=0.3,
    settle_s=0.8,
    detect_s=0.3,
    trigger_s=0.3,
    heal_s=0.3,
    converge_s=0.9,
    recover_s=0.8,
)
ALERT = Alert("inflight", "prefill-0/inflight", ">", 0.5, 0.1)


def experiment(
    *strikes: Strike, budgets: Budgets = BUDGETS, load: Crowd | None = None
) -> Experiment:
    return Experiment("test", 7, load or Crowd(due_s=0.05), strikes, budgets, (ALERT,))


def judged(stack: FakeStack, *strikes: Strike, load: Crowd | None = None) -> History:
    """The control runs on a healthy stack that is just as slow."""
    planned = experiment(*strikes, load=load)
    healthy = FakeStack(FakeClients(takes_s=stack.clients.takes_s))
    return run(planned, stack, run_control(planned, healthy))


def outcomes(history: History) -> list[Outcome]:
    return [one.outcome for one in judge(history)]


def whys(history: History) -> list[str]:
    return [str(one.detail["why"]) for one in history.of(Kind.TOOL_ERROR)]
