"""A fault that strikes while one request is held at a failpoint, so that the window is sure."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from chaos.contracts import Armable, Evidence, Fault, Proof, Stack
from chaos.failpoint import Failpoint
from chaos.stage import FaultKind, Stage
from chaos.trap import Spring


class NeverHeld(Exception):
    """The request did not come to the failpoint in time: there was no window to strike in."""


@dataclass(frozen=True, slots=True)
class Held:
    """Hold `request_id` at `site` of `node`, strike with `then`, let go when healed.

    The window of a KV transfer is a millisecond wide; a strike that aims at it by time would
    miss it. Here the request stands in the window for sure, and the proof says so.
    """

    node: str
    site: str
    request_id: str
    then: Fault
    stage: Stage
    within_s: float = 4.0  # less than `Budgets.heal_s`, so that it says itself what did not come
    needs: type = field(default=Armable, init=False)

    @property
    def name(self) -> str:
        return f"{self.then.name} while {self.stage.value} is held"

    @property
    def kind(self) -> FaultKind:
        return self.then.kind

    @contextmanager
    def lay(self, stack: Stack, rng: Random) -> Generator[Spring]:
        assert isinstance(stack, Armable)
        with stack.arm(self.node, Failpoint(self.site, "hold", self.request_id)) as held:
            yield lambda: self._strike(held, stack, rng)

    @contextmanager
    def inject(self, stack: Stack, rng: Random) -> Generator[Proof]:
        with self.lay(stack, rng) as spring, spring() as proof:
            yield proof

    @contextmanager
    def _strike(self, held: Proof, stack: Stack, rng: Random) -> Generator[Proof]:
        self._wait_until_held(held)
        with self.then.inject(stack, rng) as struck:
            yield Both(held, struck)

    def _wait_until_held(self, held: Proof) -> None:
        waiting = Retrying(
            retry=retry_if_result(lambda evidence: not evidence.bit),
            stop=stop_after_delay(self.within_s),
            wait=wait_fixed(0.01),
        )
        try:
            waiting(held.read)
        except RetryError as too_late:
            raise NeverHeld(
                f"{self.request_id} did not reach {self.site} on {self.node} in {self.within_s} s"
            ) from too_late


@dataclass(frozen=True, slots=True)
class Both:
    """The request was held, and the strike inside the window took effect."""

    held: Proof
    struck: Proof

    def read(self) -> Evidence:
        window, blow = self.held.read(), self.struck.read()
        detail = {f"window.{key}": value for key, value in window.detail.items()}
        return Evidence(window.bit and blow.bit, {**detail, **blow.detail})
