"""Owns what an oracle saw, together with the strikes that may have done it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from chaos.charge import Charges
from chaos.history import History
from chaos.oracles.accuser import ACCUSING, Accuser
from chaos.oracles.symptom import Symptom
from chaos.stage import Stage
from chaos.verdict import Outcome


@dataclass(frozen=True, slots=True)
class Accusation:
    symptom: Symptom
    strikes: tuple[str, ...]  # charged with it, together; empty: nobody is
    where: Stage  # if no request shows it by where it stood


class OracleFailed(Exception):
    """An oracle raised: it is under suspicion, and not the stack."""


def accusations(
    history: History, accusers: Sequence[Accuser]
) -> Mapping[Outcome, tuple[Accusation, ...]]:
    """All that is wrong beside a request that did not end in time, by the verdict it makes.

    OracleFailed: which oracle raised, and what.
    """
    charges = Charges(history)
    found = dict.fromkeys(ACCUSING, tuple[Accusation, ...]())
    for one in accusers:
        found[one.outcome] += tuple(_accused(one, history, charges))
    return found


def unproven(history: History, accuser: Accuser) -> str | None:
    """Why it could not look. OracleFailed: as above."""
    try:
        return accuser.unproven(history)
    except Exception as error:
        raise OracleFailed(f"{accuser.name}: {error!r}") from error


def _accused(accuser: Accuser, history: History, charges: Charges) -> Iterator[Accusation]:
    for one in _symptoms(accuser, history):
        life = history.lives.get(one.about)
        if one.node is not None:
            to = charges.of_node(one.node, one.since_ns, one.at_ns)
        elif life is not None and not life.is_recovery:
            to = charges.of_request(life, one.at_ns).strikes
        else:  # seen after the load, of the whole stack
            to = charges.of_run()
        yield Accusation(one, tuple(blow.strike for blow in to), accuser.stage)


def _symptoms(accuser: Accuser, history: History) -> Sequence[Symptom]:
    try:
        seen = tuple(accuser.symptoms(history))
    except Exception as error:
        raise OracleFailed(f"{accuser.name}: {error!r}") from error
    strange: list[object] = [one for one in seen if type(one) is not Symptom]
    if strange:
        raise OracleFailed(f"{accuser.name}: expected a Symptom, came {strange[0]!r}")
    return seen
