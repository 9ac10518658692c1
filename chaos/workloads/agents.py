"""Agents that work in rounds: ask, read the reply, run a tool, ask again with all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from chaos.contracts import Request
from chaos.workloads.prompt import NONCE_BYTES, at_least, not_negative, positive, prompt

TOOL: Final = " tool: "


@dataclass(frozen=True, slots=True)
class Agents:
    """`agents` of them, each `rounds` requests long: "a0.0", "a0.1", ..., "a1.0", ...

    All begin `due_s` after the load did; `called` takes the place of "a" in their names.

    The context grows: a round's prompt is the round before, its reply, and a tool's result of
    `tool_bytes`. `pause_s` is how long the tool takes. Each agent has a routing key, one of `keys`
    or "agent-0", so that a sticky router can keep its prefix cached on one worker. A round that
    failed is sent up to `tries_max` times in all.
    """

    agents: int
    rounds: int
    pause_s: float = 0.05
    tokens: int = 24
    prompt_bytes: int = 160
    tool_bytes: int = 80
    tries_max: int = 3
    due_s: float = 0.0
    called: str = "a"
    keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        positive(
            agents=self.agents,
            rounds=self.rounds,
            tokens=self.tokens,
            tries_max=self.tries_max,
        )
        at_least(NONCE_BYTES, prompt_bytes=self.prompt_bytes)
        at_least(NONCE_BYTES + len(TOOL), tool_bytes=self.tool_bytes)
        not_negative(pause_s=self.pause_s, due_s=self.due_s)
        if self.keys and len(self.keys) != self.agents:
            raise ValueError(f"keys: expected one for each of {self.agents}, not {self.keys}")

    @property
    def name(self) -> str:
        return f"{self.agents} agents, {self.rounds} rounds each, {self.tokens} tokens a round"

    def context_bytes(self, index: int) -> int:
        """How long the prompt of this round is, all that was said before included."""
        return self.prompt_bytes + index * (self.tokens + self.tool_bytes)

    def requests(self, rng: Random) -> Sequence[Request]:
        return [request for agent in range(self.agents) for request in self._agent(agent, rng)]

    def _agent(self, agent: int, rng: Random) -> Iterator[Request]:
        before: str | None = None
        for index in range(self.rounds):
            request_id = f"{self.called}{agent}.{index}"
            yield Request(
                request_id,
                self.due_s if before is None else self.pause_s,
                self._task(rng) if before is None else self._tool_result(rng),
                self.tokens,
                after=before,
                routing_key=self.keys[agent] if self.keys else f"agent-{agent}",
                tries_max=self.tries_max,
            )
            before = request_id

    def _task(self, rng: Random) -> str:
        return prompt(rng, self.prompt_bytes)

    def _tool_result(self, rng: Random) -> str:
        """Has a nonce of its own: a round that saw another agent's tool replies differently."""
        return TOOL + prompt(rng, self.tool_bytes - len(TOOL))
