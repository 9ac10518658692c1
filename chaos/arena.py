"""One live stack that serves many experiments, and the fault-free controls that were run on it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass

from chaos.contracts import Stack, Workload
from chaos.history import History
from chaos.judge import flawed
from chaos.oracles.completeness import flaws


@dataclass(frozen=True, slots=True)
class Wanted:
    """A stack that somebody asks for. Two with the same `plan` are the same stack."""

    plan: str  # everything that the driver was told, as text
    launch: Callable[[], AbstractContextManager[Stack]]


class Arena:
    """Keeps at most one stack alive: the one that the last experiment asked for.

    A stack is replaced when another plan is asked for, or when it was condemned: an experiment
    left it unrecovered, so nothing that happens on it later could be trusted.
    """

    def __init__(self) -> None:
        self._alive = ExitStack()
        self._stack: Stack | None = None
        self._plan: str | None = None
        self._controls: dict[tuple[str, Workload, int], History] = {}

    @property
    def live(self) -> Stack | None:
        """The stack that is up now, if any."""
        return self._stack

    def stack(self, wanted: Wanted) -> Stack:
        """The live stack of this plan. Raises what the driver raises when it cannot start."""
        if self._stack is None or self._plan != wanted.plan:
            self.close()
            self._stack = self._alive.enter_context(wanted.launch())
            self._plan = wanted.plan
        return self._stack

    def control(
        self, plan: str, workload: Workload, seed: int, play: Callable[[], History]
    ) -> History:
        """The fault-free run of this workload and seed on this plan; played the first time.

        One that nothing can be compared with is not kept: a moment's trouble would leave every
        later experiment with this load undecided.
        """
        key = (plan, workload, seed)
        kept = self._controls.get(key)
        if kept is None:
            kept = play()
            if not flaws(kept) and flawed(kept) is None:
                self._controls[key] = kept
        return kept

    def condemn(self) -> None:
        """The live stack did not come through unhurt: the next experiment gets a new one."""
        self.close()

    def close(self) -> None:
        self._stack = None
        self._plan = None
        self._alive.close()
