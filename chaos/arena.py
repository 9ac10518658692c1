"""One live stack that serves many experiments, and the fault-free controls that were run on it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, ExitStack
from typing import Generic, TypeVar

from chaos.contracts import Stack, Workload
from chaos.history import History

Plan = TypeVar("Plan", bound=Hashable)


class Arena(Generic[Plan]):
    """Keeps at most one stack alive: the one that the last experiment asked for.

    A stack is replaced when another plan is asked for, or when it was condemned: an experiment
    left it unrecovered, so nothing that happens on it later could be trusted.
    """

    def __init__(self, launch: Callable[[Plan], AbstractContextManager[Stack]]) -> None:
        self._launch = launch
        self._alive = ExitStack()
        self._stack: Stack | None = None
        self._plan: Plan | None = None
        self._controls: dict[tuple[Plan, Workload, int], History] = {}

    def stack(self, plan: Plan) -> Stack:
        """The live stack of this plan. Raises what the driver raises when it cannot start."""
        if self._stack is None or self._plan != plan:
            self.close()
            self._stack = self._alive.enter_context(self._launch(plan))
            self._plan = plan
        return self._stack

    def control(
        self, plan: Plan, workload: Workload, seed: int, play: Callable[[], History]
    ) -> History:
        """The fault-free run of this workload and seed on this plan; played the first time."""
        key = (plan, workload, seed)
        if key not in self._controls:
            self._controls[key] = play()
        return self._controls[key]

    def condemn(self) -> None:
        """The live stack did not come through unhurt: the next experiment gets a new one."""
        self.close()

    def close(self) -> None:
        self._stack = None
        self._plan = None
        self._alive.close()
