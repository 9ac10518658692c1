"""Every oracle whose symptoms make a verdict: ours, those that are installed, those of one call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from chaos.oracles.accuser import ACCUSING, Accuser
from chaos.oracles.affinity import KeysStay
from chaos.oracles.departures import WhoLeftIsLetGo
from chaos.oracles.endings import EndingsAreHonest
from chaos.oracles.false_alarm import NobodyIsCondemned
from chaos.oracles.recovery import ItServesAgain
from chaos.oracles.resources import ResourcesReturn
from chaos.oracles.tokens import RepliesAreTheControls
from chaos.stage import Stage

GROUP: Final = "pd_chaos.oracles"
MEMBERS: Final = ("name", "outcome", "stage", "symptoms", "unproven")

OURS: Final = (
    EndingsAreHonest(),
    RepliesAreTheControls(),
    ItServesAgain(),
    ResourcesReturn(),
    WhoLeftIsLetGo(),
    KeysStay(),
    NobodyIsCondemned(),
)


def everyone(mine: Iterable[object] = ()) -> tuple[Accuser, ...]:
    """Ours, those of installed packages, and these.

    ValueError or TypeError, one line: what is no oracle, what cannot be imported, two of one name.
    """
    whole = (*OURS, *installed(), *(_checked(one, repr(one)) for one in mine))
    twice = [name for name, count in Counter(one.name for one in whole).items() if count > 1]
    if twice:
        raise ValueError(f"two oracles are called {twice[0]!r}: a verdict would not say which")
    return whole


@cache
def installed() -> Sequence[Accuser]:
    """The entry points `pd_chaos.oracles` of this environment: a class, or an oracle itself."""
    found = sorted(entry_points(group=GROUP), key=lambda one: one.name)
    return tuple(_loaded(one) for one in found)


def _loaded(point: EntryPoint) -> Accuser:
    where = f"entry point {point.name!r} of {GROUP} ({point.value})"
    try:
        told = point.load()
        oracle = told() if isinstance(told, type) else told
    except Exception as error:  # whatever another package does when it is imported
        raise ValueError(f"{where}: {error!r}") from error
    return _checked(oracle, where)


def _checked(oracle: object, where: str) -> Accuser:
    lacks = [name for name in MEMBERS if not hasattr(oracle, name)]
    stage: object = getattr(oracle, "stage", None)
    if lacks or not isinstance(oracle, Accuser):
        raise TypeError(f"{where}: expected an oracle (chaos/oracles/accuser.py), lacks {lacks}")
    if oracle.outcome not in ACCUSING:
        known = ", ".join(one.value for one in ACCUSING)
        raise ValueError(f"{where}: outcome: expected one of {known}, came {oracle.outcome!r}")
    if not isinstance(stage, Stage):
        raise TypeError(f"{where}: stage: expected a Stage, came {stage!r}")
    return oracle
