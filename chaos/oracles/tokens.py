"""Is every reply the one that was asked for, and the one that the request got without a fault?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from chaos.ending import Ending, ending
from chaos.event import Kind
from chaos.history import History
from chaos.life import Life
from chaos.oracles.symptom import Symptom, holds, unknown, violated
from chaos.stage import Stage
from chaos.verdict import Finding, Outcome

OTHERS_CHARS = 8  # so many equal characters are no chance: they are another request's reply


@dataclass(frozen=True, slots=True)
class RepliesAreTheControls:
    """A reply is as long as was asked, and two complete replies to one prompt are equal.

    What was asked needs no control: a reply beyond `max_tokens` or past its stop text is wrong
    also when every reply is. So is one that ends for "length" before its length.

    A greedy reply depends on the whole prompt and on nothing else, not on the batch and not on
    which worker computed it, where the stack says so. So a wrong KV page, a page that was reused
    while it was still being written, or a stream that was handed to the wrong client is a wrong
    token. The control is one reference, another request with the same prompt is the other. Half a
    reply must still be the beginning of the right one: an error at the end does not excuse wrong
    tokens before it, nor tokens beyond a complete reply.

    On another stack, or at another temperature, only what was asked is held against a reply.
    """

    name: str = "tokens"
    outcome: Outcome = Outcome.WRONG
    stage: Stage = Stage.ENDING

    def judge(self, history: History) -> Finding:
        if bad := symptoms(history):
            return violated(self.name, bad)
        if history.control is None:
            return unknown(self.name, "no control to compare replies with")
        compared = [one for one in history.lives.values() if history.reference(one) is not None]
        if not compared:
            return unknown(self.name, "no request that the control had, too")
        if not history.specification.deterministic:
            return holds(self.name, f"{len(history.lives)} replies are as long as was asked")
        return holds(self.name, f"{len(compared)} replies are the control's")

    def symptoms(self, history: History) -> tuple[Symptom, ...]:
        return symptoms(history)

    def unproven(self, history: History) -> None:
        """Without a control nothing is proven at all: see `completeness`."""


def symptoms(history: History) -> tuple[Symptom, ...]:
    told = (
        _not_as_asked(history),
        _not_the_controls(history) if history.specification.deterministic else (),
        _not_alike(history) if history.specification.deterministic else (),
    )
    first: dict[str, Symptom] = {}
    for one in (one for some in told for one in some):
        first.setdefault(one.about, one)
    return tuple(first.values())


def _not_as_asked(history: History) -> Iterator[Symptom]:
    for life in history.lives.values():
        if why := _too_long(life) or _past_its_stop(life) or _too_short(life, history):
            yield _symptom(life, why)


def _too_long(life: Life) -> str | None:
    """By the pieces, each of which is a token at least, or by what the engine itself counted."""
    if life.tokens_max is None:
        return None
    came = max(len(life.signs_ns) - 1, _usage(life) or 0)
    return f"got {came} tokens, and asked for {life.tokens_max}" if came > life.tokens_max else None


def _past_its_stop(life: Life) -> str | None:
    told = life.sent.detail.get("stop")
    stops: list[str] = json.loads(told) if isinstance(told, str) else []
    past = next((one for one in stops if one in life.text), None)
    return f"went on past its stop text {past!r}" if past is not None else None


def _too_short(life: Life, history: History) -> str | None:
    """Unless the control's is just as short: a context that is full ends a reply, too. What the
    run itself asks is far too short for that."""
    usage = _usage(life)
    if not _complete(life) or _reason(life) != "length" or usage is None:
        return None
    if life.tokens_max is None or usage >= life.tokens_max:
        return None
    same = history.reference(life)
    if same is not None and not life.is_recovery and _usage(same) == usage:
        return None
    return f'was ended for "length" after {usage} of {life.tokens_max} tokens'


def _not_the_controls(history: History) -> Iterator[Symptom]:
    half_ns = _half_answered_ns(history)
    for life in history.lives.values():
        same = history.reference(life)
        if same is None or not _comparable(life, same):
            continue
        if life.prompt is None and half_ns is not None and life.sent.at_ns >= half_ns:
            continue
        if not _agree(life, same):
            yield _symptom(life, _difference(life, same, history))
        elif _complete(life) and _complete(same) and _reason(life) != _reason(same):
            yield _symptom(life, f"ended for {_reason(life)!r}, in the control {_reason(same)!r}")


def _half_answered_ns(history: History) -> int | None:
    """When a reply first ended with a finish reason that is an error. A load generator that did not
    tell prompts went on with half a transcript then: what it asked later is not known."""
    told = (one.at_ns for one in history.of(Kind.FINISHED) if ending(one) is Ending.ERROR)
    return min(told, default=None)


def _comparable(life: Life, same: Life) -> bool:
    """A round that follows another reply was asked something else: that reply is the wrong one."""
    alike = life.prompt is None or same.prompt is None or life.prompt == same.prompt
    return alike and life.is_greedy and same.is_greedy


def _agree(life: Life, same: Life) -> bool:
    if _complete(life) and _complete(same):
        return life.text == same.text and _digest(life) == _digest(same)
    if _complete(same):
        return same.text.startswith(life.text)
    return life.text.startswith(same.text) or same.text.startswith(life.text)


def _not_alike(history: History) -> Iterator[Symptom]:
    """Two of one run with the same prompt: alone, and among others, the reply is the same."""
    first: dict[tuple[object, ...], Life] = {}
    for life in history.lives.values():
        if life.prompt is None or not _complete(life) or not life.is_greedy:
            continue
        what = life.prompt, life.tokens_max, life.sent.detail.get("stop")
        same = first.setdefault(what, life)
        if life.text != same.text:
            yield _symptom(life, f"got another reply than {same.request_id} to the same prompt")


def _complete(life: Life) -> bool:
    return life.settled is not None and ending(life.settled) is Ending.COMPLETE


def _digest(life: Life) -> object:
    return life.settled.detail.get("sha256") if life.settled else None


def _reason(life: Life) -> object:
    return life.settled.detail.get("finish_reason") if life.settled else None


def _usage(life: Life) -> int | None:
    ended = life.settled
    told = (
        ended.detail.get("usage") if ended and ended.kind in (Kind.FINISHED, Kind.BROKE) else None
    )
    return told if isinstance(told, int) else None


def _symptom(life: Life, reason: str) -> Symptom:
    end = life.settled or life.sent
    evidence = tuple(dict.fromkeys((life.sent.seq, end.seq)))
    return Symptom(life.request_id, reason, life.sent.at_ns, end.at_ns, evidence)


def _difference(life: Life, same: Life, history: History) -> str:
    if whose := _owner(life, same, history):
        return f"got the reply of {whose}"
    at = next((i for i, (a, b) in enumerate(zip(life.text, same.text, strict=False)) if a != b), -1)
    differs = f"from character {at} on" if at >= 0 else "in length"
    return f"got a reply that differs {differs}"


def _owner(life: Life, same: Life, history: History) -> str | None:
    """Whose reply this is, when it is another request's of the control."""
    head = life.text[:OTHERS_CHARS]
    if history.control is None or len(head) < OTHERS_CHARS or same.text.startswith(head):
        return None
    others = history.control.lives.values()
    return next((one.request_id for one in others if one.text.startswith(head)), None)
