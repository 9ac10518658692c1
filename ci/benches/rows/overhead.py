"""What links, traces, probes and the recorder cost: the stack as it is used, against a bare one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from chaos.clock import MonotonicClock, seconds
from chaos.contracts import Request
from chaos.event import SETTLED, Kind, Mark
from chaos.experiment import Experiment
from chaos.keeper import keeping
from chaos.recorder import Recorder
from chaos.run import specify
from chaos.sampler import EVERY_S, sampling
from chaos.seed import source
from chaos.workloads.burst import Burst
from chaos.workloads.steady import Steady
from ci.benches.asking import marks_of
from ci.benches.bare_stack import bare_stack
from ci.benches.effort import Effort, NotMeasured
from ci.benches.patience import KNOBS, TIMERS
from ci.benches.promise import Figure, Promise, at_most
from stack.drivers.embedded import EmbeddedDriver
from stack.embedded_stack import EmbeddedStack
from stack.plan import Plan

THROUGHPUT: Final = "links and recording: loss of request throughput"
TTFT: Final = "links and recording: later first token"
PROMISES = (
    Promise(THROUGHPUT, at_most(5, "%"), paired=True),
    Promise(TTFT, at_most(1, "ms"), paired=True),
)
MANY: Final = Burst(requests=32, tokens=24)
CALM: Final = Steady(requests=12, every_s=0.06, tokens=4)
PLAY_S: Final = 30.0
PATIENT: Final = Plan(knobs=KNOBS, timers=TIMERS)
WARM_UP: Final = 2
MS_PER_S: Final = 1000


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of the comparison: plays a load, and returns what its clients saw."""

    play: Callable[[Sequence[Request]], Sequence[Mark]]

    def throughput(self, seed: int) -> float:
        """Requests a second, of a burst."""
        marks = self._played(MANY, seed)
        sent_ns = min(one.at_ns for one in marks if one.kind is Kind.SENT)
        settled_ns = max(one.at_ns for one in marks if one.kind in SETTLED)
        return MANY.count / seconds(settled_ns - sent_ns)

    def ttft_ms(self, seed: int) -> float:
        """Median time to the first token, of requests that hardly meet."""
        marks = self._played(CALM, seed)
        sent_ns = {one.about: one.at_ns for one in marks if one.kind is Kind.SENT}
        first_ns: dict[str, int] = {}
        for one in marks:
            if one.kind is Kind.TOKENS:
                first_ns.setdefault(one.about, one.at_ns)
        return MS_PER_S * median(seconds(first_ns[one] - sent_ns[one]) for one in sent_ns)

    def _played(self, load: Burst | Steady, seed: int) -> Sequence[Mark]:
        requests = load.requests(source(seed, "bench/overhead"))
        marks = self.play(requests)
        done = sum(one.kind is Kind.FINISHED for one in marks)
        if done != len(requests):
            raise NotMeasured(f"{done} of {len(requests)} requests finished without any fault")
        return marks


def measure(effort: Effort) -> Iterator[Figure]:
    losses: list[float] = []
    later_ms: list[float] = []
    bares: list[float] = []
    with ExitStack() as alive, tempfile.TemporaryDirectory(prefix="pdchaos-bench-") as folder:
        bare = Arm(_unwatched(alive.enter_context(bare_stack(PATIENT))))
        used = Arm(_watched(alive.enter_context(EmbeddedDriver(PATIENT).launch()), Path(folder)))
        for seed in range(-WARM_UP, effort.pick(32, 8)):
            pair = (bare, used) if seed % 2 else (used, bare)  # neither always comes first
            rates = {arm: arm.throughput(seed) for arm in pair}
            firsts_ms = {arm: arm.ttft_ms(seed) for arm in pair}
            if seed >= 0:
                losses.append(100 * (1 - rates[used] / rates[bare]))
                later_ms.append(firsts_ms[used] - firsts_ms[bare])
                bares += [rates[bare], firsts_ms[bare]]
    note = f"bare: {median(bares[::2]):.0f} requests/s of 24 tokens; both keep the KV link"
    yield Figure(THROUGHPUT, tuple(losses), note)
    yield Figure(TTFT, tuple(later_ms), f"bare: {median(bares[1::2]):.1f} ms")


def _unwatched(stack: EmbeddedStack) -> Callable[[Sequence[Request]], Sequence[Mark]]:
    return lambda requests: marks_of(stack.clients, requests, PLAY_S)


def _watched(stack: EmbeddedStack, folder: Path) -> Callable[[Sequence[Request]], Sequence[Mark]]:
    """As an experiment does it: observed, sampled, recorded, and kept on disk meanwhile."""

    def play(requests: Sequence[Request]) -> Sequence[Mark]:
        recorder = Recorder(MonotonicClock())
        specification = specify(Experiment("overhead", 0, MANY), stack, requests)
        with (
            keeping(folder / "history.jsonl", specification, None, recorder),
            stack.observe(recorder.accept),
            sampling(stack.signals, recorder, EVERY_S),
        ):
            stack.clients.start(requests, recorder.accept)
            if not stack.clients.wait(PLAY_S):
                stack.clients.stop(PLAY_S)
        return [mark for mark in recorder.since(0) if mark.actor == "client"]

    return play
