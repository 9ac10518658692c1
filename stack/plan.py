"""What kind of stack is wanted: its shape, its guards and their settings. Pure values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from chaos.contracts import Guard
from stack.engine.variables import unread
from stack.guard_settings import GUARDS, GuardSetting, default_knobs

ROUTERS = ("smg", "sglang-router")


@dataclass(frozen=True, slots=True)
class Topology:
    """How many prefill and decode workers stand behind the one router."""

    prefills: int
    decodes: int

    @classmethod
    def parse(cls, text: str) -> Topology:
        """Read "1p2d". Raises ValueError for anything else, or for a missing role."""
        found = re.fullmatch(r"([1-9]\d?)p([1-9]\d?)d", text.strip())
        if found is None:
            raise ValueError(f"topology: expected like '1p1d' or '2p2d', at least 1 each: {text!r}")
        return cls(int(found[1]), int(found[2]))

    def holds(self, other: Topology) -> bool:
        """Whether an experiment that needs `other` finds its nodes here."""
        return self.prefills >= other.prefills and self.decodes >= other.decodes

    def names(self, role: str) -> tuple[str, ...]:
        count = {"prefill": self.prefills, "decode": self.decodes}[role]
        return tuple(f"{role}-{index}" for index in range(count))

    @property
    def workers(self) -> tuple[str, ...]:
        return self.names("prefill") + self.names("decode")

    def __str__(self) -> str:
        return f"{self.prefills}p{self.decodes}d"


@dataclass(frozen=True, slots=True)
class RouterTimers:
    """The router's own clocks. Both routers take whole seconds."""

    health_interval_s: int = 1
    health_timeout_s: int = 1
    failure_threshold: int = 2
    success_threshold: int = 1
    breaker_failures: int = 10
    breaker_s: int = 2

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) < 1:
                raise ValueError(f"router timer must be at least 1: {name}={getattr(self, name)}")

    @property
    def condemned_s(self) -> float:
        """A dead worker is unhealthy in the router's eyes at the latest after this."""
        return self.failure_threshold * (self.health_interval_s + self.health_timeout_s)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a driver needs to start a stack. Bad values raise ValueError at once.

    `knobs` overrides the guards' settings (environment name to value); `environment` adds
    variables for one role ("decode") or one node ("decode-0"), the node's winning.
    """

    topology: Topology = field(default_factory=lambda: Topology(1, 1))
    router: str = "smg"
    sticky: bool = True
    attempts: int = 1
    guards_off: frozenset[str] = frozenset()
    seed: int = 0
    knobs: Mapping[str, str] = field(default_factory=dict[str, str])
    environment: Mapping[str, Mapping[str, str]] = field(
        default_factory=dict[str, Mapping[str, str]]
    )
    timers: RouterTimers = field(default_factory=RouterTimers)
    slack_s: float = 1.0  # a guard's budget beyond its knob: a loaded machine's scheduling

    def __post_init__(self) -> None:
        _require_known("router", {self.router}, ROUTERS)
        switches = tuple(name for name, setting in GUARDS.items() if not setting.fixed)
        _require_known("guards_off", self.guards_off, switches)
        _require_known("knobs", self.knobs, tuple(default_knobs()))
        places = ("router", "prefill", "decode", *self.topology.workers)
        _require_known("environment", self.environment, places)
        for place, variables in self.environment.items():
            misspelt = unread(variables) if place != "router" else None
            if misspelt is not None:
                raise ValueError(f"environment of {place}: {misspelt}")
        if self.attempts < 1:
            raise ValueError(f"attempts: a request is tried at least once, not {self.attempts}")
        if self.slack_s <= 0:
            raise ValueError(f"slack_s must be positive, not {self.slack_s}")
        for guard in self.guards.values():  # a knob that is no number has no budget
            assert guard.budget_s > 0

    def __hash__(self) -> int:
        """By value, as equality is; plans are keys of the stacks that were built from them."""
        places = frozenset((place, *sorted(v.items())) for place, v in self.environment.items())
        knobs = frozenset(self.knobs.items())
        plain = (self.topology, self.router, self.sticky, self.attempts, self.guards_off)
        return hash((*plain, self.seed, self.timers, self.slack_s, knobs, places))

    def with_environment(self, more: Mapping[str, Mapping[str, str]]) -> Plan:
        """This plan with further variables for roles or nodes; the new ones win."""
        places = {*self.environment, *more}
        merged = {one: {**self.environment.get(one, {}), **more.get(one, {})} for one in places}
        return replace(self, environment=merged)

    @property
    def name(self) -> str:
        return f"{self.topology} behind {self.router}"

    def settings(self) -> dict[str, str]:
        """Every knob of the guards as this plan sets it: environment name to value."""
        return {**default_knobs(), **self.knobs}

    def node_environment(self, node: str) -> dict[str, str]:
        """The knobs of one worker, for example "decode-0"."""
        role = node.rsplit("-", 1)[0]
        merged = {**self.settings(), "PDCHAOS_SEED": str(self.seed)}
        engine_guards_off = sorted(name for name in self.guards_off if not GUARDS[name].of_router)
        if engine_guards_off:
            merged["PDCHAOS_GUARDS_OFF"] = ",".join(engine_guards_off)
        return {**merged, **self.environment.get(role, {}), **self.environment.get(node, {})}

    @property
    def guards(self) -> dict[str, Guard]:
        return {name: self._guard(name, setting) for name, setting in GUARDS.items()}

    def _guard(self, name: str, setting: GuardSetting) -> Guard:
        on = name not in self.guards_off and (name != "sticky_sessions" or self.sticky)
        if name == "router_health":
            value, budget_s = str(self.timers.health_interval_s), self.timers.condemned_s
        elif name == "router_breaker":  # whom it condemned it asks again, at the latest after this
            value, budget_s = str(self.timers.breaker_s), float(self.timers.breaker_s)
        else:
            value = self.settings().get(setting.knob, setting.value)
            budget_s = setting.budget_s(name, self.settings())
        return Guard(name, on, setting.knob, value, budget_s + self.slack_s)

    def lines(self) -> Iterator[str]:
        """The plan as people read it, one guard a line."""
        yield (
            f"{self.name}, {'sticky' if self.sticky else 'not sticky'}, "
            f"{self.attempts} attempt(s), seed {self.seed}"
        )
        yield f"router timers: {self.timers}"
        for guard in self.guards.values():
            state = "on " if guard.on else "OFF"
            setting = f"{guard.knob}={guard.value}" if guard.knob else "no knob"
            yield f"guard {guard.name:<26} {state} {setting:<52} budget {guard.budget_s:g} s"
        for place, variables in self.environment.items():
            yield f"environment of {place}: {', '.join(sorted(variables))}"

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _require_known(
    what: str, given: frozenset[str] | set[str] | Mapping[str, object], known: tuple[str, ...]
) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        near = get_close_matches(unknown[0], known, n=1)
        hint = f" (the nearest is {near[0]})" if near else ""
        raise ValueError(
            f"{what}: unknown {', '.join(unknown)}{hint}; known are: {', '.join(known)}"
        )
