"""Is every reply the one that the same request got without a fault?"""

from __future__ import annotations

from dataclasses import dataclass

from chaos.ending import Ending, ending
from chaos.history import History
from chaos.life import Life
from chaos.oracles.symptom import Symptom, holds, unknown, violated
from chaos.verdict import Finding

OTHERS_CHARS = 8  # so many equal characters are no chance: they are another request's reply


@dataclass(frozen=True, slots=True)
class RepliesAreTheControls:
    """Two complete replies to the same request are equal; else one begins with the other.

    An engine's greedy tokens depend on the whole prompt and on nothing else, not on the batch and
    not on which worker computed them. So a wrong KV page, a page that was reused while it was
    still being written, or a stream that was handed to the wrong client is a wrong token, and the
    control is the only reference needed. Half a reply must still be the beginning of the right
    one: an error at the end does not excuse wrong tokens before it.
    """

    name: str = "tokens"

    def judge(self, history: History) -> Finding:
        if history.control is None:
            return unknown(self.name, "no control to compare replies with")
        compared = [one for one in history.lives.values() if history.reference(one) is not None]
        if not compared:
            return unknown(self.name, "no request that the control had, too")
        if bad := symptoms(history):
            return violated(self.name, bad)
        return holds(self.name, f"{len(compared)} replies are the control's")


def symptoms(history: History) -> tuple[Symptom, ...]:
    found: list[Symptom] = []
    for life in history.lives.values():
        same = history.reference(life)
        if same is not None and not _agree(life, same):
            found.append(_symptom(life, same, history))
    return tuple(found)


def _agree(life: Life, same: Life) -> bool:
    if _complete(life) and _complete(same):
        return life.text == same.text and _digest(life) == _digest(same)
    return life.text.startswith(same.text) or same.text.startswith(life.text)


def _complete(life: Life) -> bool:
    return life.settled is not None and ending(life.settled) is Ending.COMPLETE


def _digest(life: Life) -> object:
    return life.settled.detail.get("sha256") if life.settled else None


def _symptom(life: Life, same: Life, history: History) -> Symptom:
    whose = _owner(life, same, history)
    at = next((i for i, (a, b) in enumerate(zip(life.text, same.text, strict=False)) if a != b), -1)
    differs = f"from character {at} on" if at >= 0 else "in length"
    reason = f"got the reply of {whose}" if whose else f"got a reply that differs {differs}"
    end = life.settled or life.sent
    since_ns = life.sent.at_ns
    return Symptom(life.request_id, reason, since_ns, end.at_ns, (life.sent.seq, end.seq))


def _owner(life: Life, same: Life, history: History) -> str | None:
    """Whose reply this is, when it is another request's of the control."""
    head = life.text[:OTHERS_CHARS]
    if history.control is None or len(head) < OTHERS_CHARS or same.text.startswith(head):
        return None
    others = history.control.lives.values()
    return next((one.request_id for one in others if one.text.startswith(head)), None)
