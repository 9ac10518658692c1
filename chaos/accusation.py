"""Owns what an oracle saw, together with the strikes that may have done it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from chaos.charge import Charges
from chaos.history import History
from chaos.oracles import (
    affinity,
    departures,
    endings,
    false_alarm,
    recovery,
    resources,
    tokens,
)
from chaos.oracles.symptom import Symptom
from chaos.verdict import Outcome


@dataclass(frozen=True, slots=True)
class Accusation:
    symptom: Symptom
    strikes: tuple[str, ...]  # charged with it, together; empty: nobody is


def accusations(history: History) -> Mapping[Outcome, tuple[Accusation, ...]]:
    """All that is wrong beside a request that did not end in time, by the verdict it makes."""
    found: Mapping[Outcome, Sequence[Symptom]] = {
        Outcome.WRONG: (*endings.symptoms(history), *tokens.symptoms(history)),
        Outcome.NOT_RECOVERED: recovery.symptoms(history),
        Outcome.MISROUTED: affinity.symptoms(history),
        Outcome.LEAKED: (*resources.symptoms(history), *departures.symptoms(history)),
        Outcome.FALSE_ALARM: false_alarm.symptoms(history),
    }
    charges = Charges(history)
    return {
        outcome: tuple(_accused(symptoms, history, charges)) for outcome, symptoms in found.items()
    }


def _accused(
    symptoms: Sequence[Symptom], history: History, charges: Charges
) -> Iterator[Accusation]:
    for one in symptoms:
        life = history.lives.get(one.about)
        if one.node is not None:
            to = charges.of_node(one.node, one.since_ns, one.at_ns)
        elif life is not None and not life.is_recovery:
            to = charges.of_request(life, one.at_ns).strikes
        else:  # seen after the load, of the whole stack
            to = charges.of_run()
        yield Accusation(one, tuple(blow.strike for blow in to))
