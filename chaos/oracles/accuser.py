"""An oracle whose symptoms make a verdict: what they stand for, and what it could not look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, runtime_checkable

from chaos.history import History
from chaos.oracles.symptom import Symptom
from chaos.stage import Stage
from chaos.verdict import Outcome

ACCUSING: Final[tuple[Outcome, ...]] = (
    Outcome.WRONG,
    Outcome.NOT_RECOVERED,
    Outcome.MISROUTED,
    Outcome.LEAKED,
    Outcome.FALSE_ALARM,
)


@runtime_checkable
class Accuser(Protocol):
    """What it sees is charged to the strikes that may have done it, and makes their verdict.

    A request that hung or ended too late is no accuser's affair: the engine itself decides
    between CAUGHT, SURFACED and SILENT. Pure: no clock, no stack, no files.
    """

    @property
    def name(self) -> str: ...

    @property
    def outcome(self) -> Outcome:
        """What a symptom makes of a strike: one of ACCUSING."""
        ...

    @property
    def stage(self) -> Stage:
        """Where it went wrong, if no request shows it by where it stood."""
        ...

    def symptoms(self, history: History) -> Sequence[Symptom]:
        """All that it sees; nothing, where all is well."""
        ...

    def unproven(self, history: History) -> str | None:
        """Why it could not look, in half a sentence: then every strike is UNKNOWN. Asked only
        where nothing has the outcome that its symptoms stand for."""
        ...
