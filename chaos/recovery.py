"""Owns the questions after healing: does it serve one, does it serve many, is all given back?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Event

from chaos.baseline import PER_REQUEST, Baseline, control_rest, is_counted
from chaos.clock import ns
from chaos.contracts import Request, Stack
from chaos.deadline import within
from chaos.event import Kind
from chaos.history import History
from chaos.life import RECOVER
from chaos.recorder import Recorder
from chaos.rounds import BURST, ROUND, ROUNDS, SETTLE_S, Round, burst_size
from chaos.sampler import read_all
from chaos.seed import source
from chaos.specification import Budgets

POLL_S = 0.1  # between two readings of the resources
READ_S = 2.0  # one reading of all; the last one gets it in full, or it would be cut short
PROMPT_CHARS = 48
TOKENS = 8
AGAIN_S = 0.8  # a resource that is not back after this long may only have been written down late
ROUND_MIN = 2  # one alone that adds one might be chance
SLACK_S = 0.5  # for the answer of a bounded call to reach us


@dataclass(frozen=True, slots=True)
class Recovery:
    stack: Stack
    recorder: Recorder
    budgets: Budgets
    seed: int

    def play(self, concurrency: int, steady: Mapping[str, float], control: History | None) -> None:
        """One lone request; as many at once as the load had; then the resources.

        A router takes a worker back only after its next health check: the lone request waits for
        that, in its bound, and is sent once. A stack that leaves it hanging is not asked for more.
        Its prompt is asked again among the many: alone and beside others, the reply is the same.
        """
        self._await_ready()
        name = f"capacity-{concurrency}"
        lone = self._request("lone")
        many = [self._request(f"{name}/{index}") for index in range(1, concurrency)]
        many.insert(0, replace(lone, request_id=f"{RECOVER}{name}/0"))
        serves = self._serves([lone]) and self._serves(many)
        baseline = Baseline(steady, control_rest(control), concurrency)
        baseline, now = self._await_exact(baseline, serves)
        sent = self._sent()
        if serves:
            self._ask_again(baseline, now)
        if self._sent() > sent:  # what that took has the same bound to come back
            self._await_exact(baseline, serves)

    def _await_ready(self) -> None:
        """Not ready after the bound: then the lone request shows what that means."""
        overdue_ns, pause = self.recorder.now_ns() + ns(self.budgets.recover_s), Event()
        try:
            while not within(READ_S, "ready", self.stack.ready):
                if self.recorder.now_ns() >= overdue_ns:
                    return
                pause.wait(POLL_S)
        except Exception as error:  # noqa: BLE001 - somebody else's code, and we must go on
            self.recorder.tool_error("run", "ready", repr(error))

    def _request(self, name: str) -> Request:
        rng = source(self.seed, f"recover/{name}")
        prompt = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz ", k=PROMPT_CHARS))
        return Request(f"{RECOVER}{name}", 0.0, prompt, TOKENS)

    def _serves(self, requests: Sequence[Request]) -> bool:
        """True when all of them settled. What they settled with is for the oracle to see."""
        try:
            return self._play(requests)
        except Exception as error:  # noqa: BLE001 - somebody else's code, and we must go on
            self.recorder.tool_error("run", requests[0].request_id, repr(error))
            return False

    def _play(self, requests: Sequence[Request]) -> bool:
        clients, bound_s = self.stack.clients, self.budgets.recover_s
        within(bound_s, "start load", lambda: clients.start(requests, self.recorder.accept))
        settled = within(bound_s + SLACK_S, "await load", lambda: clients.wait(bound_s))
        if not settled:
            within(bound_s + SLACK_S, "stop load", lambda: clients.stop(bound_s))
        return settled

    def _await_exact(
        self,
        baseline: Baseline,
        serves: bool,  # noqa: FBT001 - a fact
    ) -> tuple[Baseline, Mapping[str, float]]:
        """Read until all that is exact is back, or the bound is over; the last reading counts.

        A gauge that is written only when a request passes, by several threads and in no order,
        may show an old value for as long as the stack is idle. So one more request passes, now
        and then: what is really held is still held after it.
        """
        begin_ns, pause, again = self.recorder.now_ns(), Event(), 0
        while True:
            read = read_all(self.stack.resources, self.recorder, READ_S)
            now = {name: one.value for name, one in read.items()}
            zero = frozenset(name for name, one in read.items() if one.idle)
            baseline = replace(baseline, idle=baseline.idle | zero)
            waited_ns = self.recorder.now_ns() - begin_ns
            if baseline.is_back(now) or waited_ns >= ns(self.budgets.recover_s):
                return baseline, now
            if serves and waited_ns >= (again + 1) * ns(AGAIN_S):
                again += 1
                serves = self._serves([self._request(f"again-{again}")])
            pause.wait(POLL_S)

    def _ask_again(self, baseline: Baseline, now: Mapping[str, float]) -> None:
        """Where what is kept may be a pool or a leak: the same load again, until it adds nothing.

        What is then still above what is tolerated must serve: see chaos.rounds.
        """
        requests = self._sent()
        names = baseline.kept(now, requests)
        need = {name: baseline.per_request(name, now[name], requests) for name in names}
        for index in range(ROUNDS):
            if not need:
                break
            count = max(ROUND_MIN, baseline.concurrency)
            played = self._round(f"{ROUND}{index + 1}", count, now, need)
            if not played.served:
                return
            need = {name: one for name, one in need.items() if played.grew(name, one)}
            now = played.after
        over = [one for one in names if one not in need and one in now]
        most = max((baseline.excess(one, now[one]) for one in over if is_counted(one)), default=0.0)
        if most > 0:
            self._burst(baseline, now, over)

    def _burst(self, baseline: Baseline, now: Mapping[str, float], names: Sequence[str]) -> None:
        """As many at once as are kept; what did not serve has the bound to go away."""
        above = {one: baseline.above(one, now[one]) for one in names if is_counted(one)}
        count = burst_size(max(above.values()))
        need = dict.fromkeys(above, PER_REQUEST)
        played = self._round(f"{BURST}{count}", count, now, need)
        if not any(played.grew(name, PER_REQUEST) for name in above):
            return
        overdue_ns, pause = self.recorder.now_ns() + ns(self.budgets.recover_s), Event()
        while self.recorder.now_ns() < overdue_ns:
            now = self._read()
            if not any(one in now and baseline.excess(one, now[one]) > 0 for one in above):
                return
            pause.wait(POLL_S)

    def _round(
        self, name: str, count: int, before: Mapping[str, float], need: Mapping[str, float]
    ) -> Round:
        """Ask so many at once, then read until what they took is given back, or `SETTLE_S`."""
        group = name.removeprefix(RECOVER)
        served = self._serves([self._request(f"{group}/{index}") for index in range(count)])
        begin_ns, pause = self.recorder.now_ns(), Event()
        while True:
            played = Round(count, served, before, self._read())
            waited_ns = self.recorder.now_ns() - begin_ns
            grew = any(played.grew(one, per_request) for one, per_request in need.items())
            if not grew or waited_ns >= ns(SETTLE_S):
                return played
            pause.wait(POLL_S)

    def _read(self) -> Mapping[str, float]:
        read = read_all(self.stack.resources, self.recorder, READ_S)
        return {name: one.value for name, one in read.items()}

    def _sent(self) -> int:
        """How many requests this run has sent so far."""
        return sum(mark.kind is Kind.SENT for mark in self.recorder.since(0))
