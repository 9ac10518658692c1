"""Carry out one experiment. The only module of the engine that makes things happen."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

from chaos.clock import Clock, MonotonicClock, ns, seconds
from chaos.contracts import Request, Stack
from chaos.deadline import within
from chaos.departure_watch import DepartureWatch
from chaos.event import Kind
from chaos.experiment import Experiment, strike_id
from chaos.history import History
from chaos.keeper import keeping
from chaos.load import concurrency, span_s
from chaos.recorder import Recorder
from chaos.recovery import Recovery
from chaos.sampler import EVERY_S, read_all, sampling
from chaos.seed import source
from chaos.specification import Specification
from chaos.striker import Striker
from chaos.vigil import Vigil

WAIT_SLICE_S = 0.1  # the load generator is asked again this often
SLACK_S = 0.5  # threads of ours are given this much more than the sum of their own bounds


def run(
    experiment: Experiment,
    stack: Stack,
    control: History | None = None,
    *,
    keep: Path | None = None,
    clock: Clock | None = None,
) -> History:
    """Steady, disturb, heal, converge, recover. Always returns, even when everything hangs.

    `control` is the fault-free run of the same seed, by which this one is judged; `keep` is the
    file in which the history is written while it happens. Whatever fails of ours is in the
    history as a TOOL_ERROR, and then nothing is proven.
    """
    recorder = Recorder(clock or MonotonicClock())
    requests = tuple(experiment.workload.requests(source(experiment.seed, "workload")))
    specification = specify(experiment, stack, requests)
    with ExitStack() as closing:
        if keep is not None:
            closing.enter_context(keeping(keep, specification, control, recorder))
        try:
            _Run(experiment, stack, recorder, requests, control).play()
        except Exception as error:  # noqa: BLE001 - the history so far matters more than this
            recorder.tool_error("run", experiment.name, repr(error))
        events = recorder.finish()
    return History(events, specification, control)


def run_control(experiment: Experiment, stack: Stack, *, keep: Path | None = None) -> History:
    """The same load without a strike: what every request would have got."""
    return run(experiment.without_strikes(), stack, keep=keep)


def specify(experiment: Experiment, stack: Stack, requests: Sequence[Request]) -> Specification:
    """The experiment's part of the history's header, with the guards that are on."""
    guards = {guard.name: guard.budget_s for guard in stack.guards.values() if guard.on}
    patience = {guard.name: _number(guard.value) for guard in stack.guards.values() if guard.on}
    known = {name: value for name, value in patience.items() if value is not None}
    told = experiment.specification(stack.name, guards, concurrency(requests), known)
    return replace(told, deterministic=stack.deterministic)


def _number(value: str) -> float | None:
    """The knob's value where it is a number: "1.5", but not "on"."""
    try:
        return float(value)
    except ValueError:
        return None


class _Run:
    """One experiment, phase by phase."""

    def __init__(
        self,
        experiment: Experiment,
        stack: Stack,
        recorder: Recorder,
        requests: tuple[Request, ...],
        control: History | None,
    ) -> None:
        self._stack = stack
        self._recorder = recorder
        self._requests = requests
        self._seed = experiment.seed
        self._budgets = experiment.budgets
        self._closed = Event()
        self._settled = Event()
        self._watched = Event()  # every request settled, or waiting longer shows nothing new
        self._control = control
        self._vigil = Vigil(experiment.budgets)
        self._departures = DepartureWatch(experiment.budgets, control)
        self._loaded_ns = 0
        self._strikers = tuple(
            Striker(strike, strike_id(index, strike.fault), recorder, experiment.budgets)
            for index, strike in enumerate(experiment.strikes)
        )

    def play(self) -> None:
        with ExitStack() as watching:
            watching.callback(self._closed.set)
            watching.callback(self._undo)
            watching.enter_context(self._observed())
            watching.enter_context(self._recorder.subscribed(self._vigil.hear))
            watching.enter_context(self._recorder.subscribed(self._departures.hear))
            self._phase("steady")
            read = read_all(self._stack.resources, self._recorder, self._budgets.recover_s)
            steady = {name: one.value for name, one in read.items()}
            with sampling(self._stack.signals, self._recorder, EVERY_S):
                self._disturb()
                self._heal()
                self._converge()
            self._phase("recover")
            self._give_up()
            recovery = Recovery(self._stack, self._recorder, self._budgets, self._seed)
            recovery.play(concurrency(self._requests), steady, self._control)
        self._phase("done")

    def _phase(self, name: str) -> None:
        self._recorder.write("run", Kind.PHASE, name)

    @contextmanager
    def _observed(self) -> Generator[None]:
        """Nodes' marks reach the recorder; neither beginning nor ending that can hang us."""
        observing = self._stack.observe(self._recorder.accept)
        within(self._budgets.heal_s, "begin to observe", observing.__enter__)
        try:
            yield
        finally:
            self._bounded("stop observing", lambda: observing.__exit__(None, None, None))

    def _bounded(self, what: str, call: Callable[[], object]) -> None:
        try:
            within(self._budgets.heal_s, what, call)
        except Exception as error:  # noqa: BLE001 - somebody else's code, and we must go on
            self._recorder.tool_error("run", what, repr(error))

    def _disturb(self) -> None:
        """Lay the traps, send the load, strike; over when no strike hurts any more."""
        self._phase("disturb")
        with ExitStack() as hearing:
            for striker in self._strikers:
                hearing.enter_context(self._recorder.subscribed(striker.hear))
            self._strike(lies_in_wait=True)
            start = self._stack.clients.start
            self._bounded("start load", lambda: start(self._requests, self._recorder.accept))
            self._loaded_ns = self._recorder.now_ns()
            self._strike(lies_in_wait=False)
            Thread(target=self._watch_load, name="watch load", daemon=True).start()
            self._await("spent", [(one.spent, one.bound_s) for one in self._strikers])

    def _strike(self, *, lies_in_wait: bool) -> None:
        for index, striker in enumerate(self._strikers):
            if striker.lies_in_wait is lies_in_wait:
                striker.start(self._stack, source(self._seed, f"strike/{index}"))
                if lies_in_wait:
                    striker.await_laid()

    def _watch_load(self) -> None:
        """Until every request settled, or none of those that wait can surprise us any more; and
        what clients left behind was let go, or should have been."""
        try:
            while not (self._closed.is_set() or self._is_hopeless()):
                if self._stack.clients.wait(WAIT_SLICE_S):
                    self._settled.set()
                    break
            while self._departures.is_open(self._recorder.now_ns()):
                if self._closed.wait(WAIT_SLICE_S):
                    break
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise to
            self._recorder.tool_error("run", "watch load", repr(error))
        self._watched.set()
        self._end_strikes()

    def _is_hopeless(self) -> bool:
        """All was sent, all strikes have come, and every request that waits has hung."""
        now_ns = self._recorder.now_ns()
        sent_all = now_ns >= self._loaded_ns + ns(span_s(self._requests))
        came_all = all(one.has_come for one in self._strikers)
        return sent_all and came_all and self._vigil.is_hopeless(now_ns)

    def _end_strikes(self) -> None:
        for striker in self._strikers:
            striker.end()

    def _heal(self) -> None:
        self._phase("heal")
        self._undo()

    def _undo(self) -> None:
        """Whatever happened, no strike is left behind; those that never started are done."""
        self._end_strikes()
        started = [one for one in self._strikers if one.started]
        self._await("done", [(one.done, self._budgets.heal_s) for one in started])

    def _await(self, what: str, events: Sequence[tuple[Event, float]]) -> None:
        """Wait for the strikers' own bounded threads, together, and a little longer."""
        begin_ns = self._recorder.now_ns()
        for event, bound_s in events:
            overdue_ns = begin_ns + ns(bound_s + SLACK_S)
            if not event.wait(max(0.0, seconds(overdue_ns - self._recorder.now_ns()))):
                self._recorder.tool_error("run", what, "a striker did not keep its own bound")

    def _converge(self) -> None:
        """Wait until every request settled or hung, or the bound since the last that was due is
        over."""
        self._phase("converge")
        due_ns = self._loaded_ns + ns(span_s(self._requests))
        overdue_ns = max(due_ns, self._recorder.now_ns()) + ns(self._budgets.converge_s)
        self._watched.wait(seconds(overdue_ns - self._recorder.now_ns()))

    def _give_up(self) -> None:
        """A request that still waits is left behind on purpose: its silence is the finding."""
        self._closed.set()
        if not self._settled.is_set():
            stop = self._stack.clients.stop
            self._bounded("stop load", lambda: stop(self._budgets.heal_s))
