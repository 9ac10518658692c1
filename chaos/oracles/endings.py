"""Does every ending tell the client the truth?"""

from __future__ import annotations

from dataclasses import dataclass

from chaos.ending import Ending, ending
from chaos.event import Event, Kind
from chaos.history import History
from chaos.life import Life
from chaos.oracles.symptom import Symptom, holds, unknown, violated
from chaos.stage import Stage
from chaos.verdict import Finding, Outcome

ERROR_BODIES = ('{"error"', '{"object":"error"', '{"object": "error"')


@dataclass(frozen=True, slots=True)
class EndingsAreHonest:
    """No failure looks like an answer: none is truncated, mute, or an error dressed as text.

    The client is one that follows the protocol and nothing more. It takes a stream that has a
    finish_reason of "stop" or "length" and then [DONE] for complete; it raises on an error status,
    an error event, and a broken connection. Whatever failed without one of these was told as a
    success, or not told at all. An error event is honest even when [DONE] follows it.
    """

    name: str = "endings"
    outcome: Outcome = Outcome.WRONG
    stage: Stage = Stage.ENDING

    def judge(self, history: History) -> Finding:
        settled = [one for one in history.lives.values() if one.settled is not None]
        if not settled:
            return unknown(self.name, "no request ended")
        if bad := symptoms(history):
            return violated(self.name, bad)
        return holds(self.name, f"all {len(settled)} endings say what happened")

    def symptoms(self, history: History) -> tuple[Symptom, ...]:
        return symptoms(history)

    def unproven(self, history: History) -> None:
        """Every reply is looked at."""


def symptoms(history: History) -> tuple[Symptom, ...]:
    return tuple(
        Symptom(one.request_id, lie, one.sent.at_ns, one.settled.at_ns, (one.settled.seq,))
        for one in history.lives.values()
        if one.settled is not None and (lie := _lie(one, one.settled))
    )


def _lie(life: Life, settled: Event) -> str | None:
    ended = ending(settled)
    if ended is Ending.MUTE:
        return _mute(settled)
    if ended is Ending.COMPLETE and life.text.lstrip().startswith(ERROR_BODIES):
        return "got an error as the text of a complete reply"
    return None


def _mute(settled: Event) -> str:
    done = settled.detail.get("done")
    if settled.kind is Kind.FINISHED:
        return "was taken for finished without finish_reason and [DONE]"
    if done is True:
        return "got [DONE] without a finish_reason: cut short, and told that all is well"
    if done is False:
        return "was cut short: the stream ended without [DONE] and without an error"
    return "got a reply without a finish_reason"
