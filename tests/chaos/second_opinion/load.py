"""The load of a drawn history: what becomes of each request, each ending often enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from chaos.event import Json, Kind
from tests.chaos.second_opinion.draft import Draft, digest

FIRST, SECOND = "abcdef", "ghijkl"
USUAL_S = 0.5  # what a request takes in the control
LATE_S = (0.3, 1.0, 1.4, 2.0, 2.3, 4.1, 5.5, 6.4, 9.0)  # later than in the control
WAITED_S = (0.4, 1.1, 2.4, 3.0, 3.4, 5.2, 6.0, 6.3, 8.2, 12.0)  # until an error came


@dataclass(frozen=True, slots=True)
class Turn:
    """One request, and where it runs."""

    name: str
    sent_s: float
    prefill: str
    decode: str
    key: str | None
    text: str

    @property
    def half(self) -> str:
        return self.text[: len(self.text) // 2]


def draw_load(draft: Draft) -> None:
    rng = draft.rng
    with_keys = draft.chance(40)
    sent_s, taken = 0.6, set[tuple[str, float]]()
    for index in range(rng.choice((1, 1, 2, 2, 3, 4))):
        sent_s = round(sent_s + rng.choice((0.0, 0.4, 0.9, 2.0, 3.0, 7.0)), 3)
        key = rng.choice(("k", "k", "m", None)) if with_keys else None
        place = (rng.choice(("prefill-0", "prefill-1")), rng.choice(("decode-0", "decode-1")))
        if key is not None and (key, sent_s) in taken:
            key = None  # which of two came first would be chance
        if key is not None:
            taken.add((key, sent_s))
            place = ("prefill-0", "decode-0" if key == "k" else "decode-1")
        turn = Turn(f"r{index}", sent_s, *place, key, f"{FIRST}{index}{SECOND}")
        _as_usual(draft, turn)
        rng.choices([one for one, _ in FATES], [weight for _, weight in FATES])[0](draft, turn)


def _asked(turn: Turn) -> dict[str, Json]:
    told: dict[str, Json] = {
        "prompt_sha256": f"prompt of {turn.name}",
        "tokens_max": len(turn.text),
    }
    return told | ({"routing_key": turn.key} if turn.key else {})


def _as_usual(draft: Draft, turn: Turn) -> None:
    """The control's part."""
    at_s, note = turn.sent_s, draft.note_control
    note(at_s, "client", Kind.SENT, turn.name, **_asked(turn))
    note(at_s + 0.05, turn.prefill, Kind.STAGE, turn.name, stage="intake")
    note(at_s + 0.1, turn.decode, Kind.STAGE, turn.name, stage="intake")
    note(at_s + 0.2, "client", Kind.TOKENS, turn.name, text=turn.half)
    note(at_s + 0.4, "client", Kind.TOKENS, turn.name, text=turn.text[len(turn.half) :])
    note(at_s + USUAL_S, "client", Kind.FINISHED, turn.name, **_ending(turn.text))


def _ending(text: str, reason: str = "length") -> dict[str, Json]:
    """A character is a token here."""
    told: dict[str, Json] = {"finish_reason": reason, "done": True, "sha256": digest(text)}
    return told | {"tokens": len(text), "usage": len(text)}


def _sent(draft: Draft, turn: Turn, *, reaches: bool = True) -> None:
    draft.note(turn.sent_s, "client", Kind.SENT, turn.name, **_asked(turn))
    if reaches:
        draft.note(turn.sent_s + 0.05, turn.prefill, Kind.STAGE, turn.name, stage="intake")
        draft.note(turn.sent_s + 0.1, turn.decode, Kind.STAGE, turn.name, stage="intake")


def _streamed(draft: Draft, turn: Turn, text: str, last_s: float) -> None:
    """Two pieces: one as in the control or late as well, the other one last."""
    cut = len(text) // 2
    first_s = turn.sent_s + 0.2 if draft.chance(60) else last_s - 0.1
    draft.note(min(first_s, last_s), "client", Kind.TOKENS, turn.name, text=text[:cut])
    draft.note(last_s, "client", Kind.TOKENS, turn.name, text=text[cut:])


def right(draft: Draft, turn: Turn) -> None:
    _finished(draft, turn, turn.text, turn.sent_s + USUAL_S)


def late(draft: Draft, turn: Turn) -> None:
    end_s = turn.sent_s + USUAL_S + draft.rng.choice(LATE_S)
    _finished(draft, turn, turn.text, end_s)
    if draft.chance(30):
        _guard(draft, turn, end_s - draft.rng.choice((0.1, 0.3)))


def _decoded(draft: Draft, turn: Turn) -> None:
    draft.note(turn.sent_s + 0.15, turn.decode, Kind.STAGE, turn.name, stage="decode")


def _finished(draft: Draft, turn: Turn, text: str, end_s: float, reason: str = "length") -> None:
    _sent(draft, turn)
    _decoded(draft, turn)
    _streamed(draft, turn, text, end_s - 0.1)
    draft.note(end_s, "client", Kind.FINISHED, turn.name, **_ending(text, reason))


def wrong(draft: Draft, turn: Turn) -> None:
    """Other tokens, too few, too many, another reason for the end."""
    end_s = turn.sent_s + draft.rng.choice((0.5, 1.2, 3.1))
    text = draft.rng.choice((turn.text.upper(), turn.half, turn.text + "zz", turn.text))
    reason = "stop" if text == turn.text else "length"
    _finished(draft, turn, text, end_s, reason)


def refused(draft: Draft, turn: Turn) -> None:
    _sent(draft, turn, reaches=draft.chance(80))
    end_s = turn.sent_s + draft.rng.choice(WAITED_S)
    if draft.chance(60):
        _guard(draft, turn, end_s - 0.05)
    draft.note(end_s, "client", Kind.REFUSED, turn.name, status=503, error="no")
    if draft.chance(20):
        again = Turn(
            f"{turn.name}+1", round(end_s + 0.2, 3), turn.prefill, turn.decode, turn.key, turn.text
        )
        _sent(draft, again)
        _streamed(draft, again, again.text, again.sent_s + 0.4)
        draft.note(again.sent_s + 0.5, "client", Kind.FINISHED, again.name, **_ending(again.text))


def broke(draft: Draft, turn: Turn) -> None:
    rng = draft.rng
    _sent(draft, turn)
    end_s = turn.sent_s + rng.choice(WAITED_S)
    text = rng.choice(("", turn.half, turn.half, turn.half.upper(), turn.text + "zz"))
    if text:
        piece_s = turn.sent_s + 0.2 if draft.chance(70) else end_s - 0.1
        draft.note(piece_s, "client", Kind.TOKENS, turn.name, text=text)
    if draft.chance(50):
        _guard(draft, turn, end_s - 0.05)
    how = rng.choice(("error_event", "transport", "error_event", "transport", "truncated"))
    draft.note(end_s, "client", Kind.BROKE, turn.name, how=how, done=False, why="cut")


def aborted(draft: Draft, turn: Turn) -> None:
    end_s = turn.sent_s + draft.rng.choice(WAITED_S)
    _sent(draft, turn)
    draft.note(turn.sent_s + 0.2, "client", Kind.TOKENS, turn.name, text=turn.half)
    draft.note(end_s, "client", Kind.FINISHED, turn.name, **_ending(turn.half, "abort"))


def never(draft: Draft, turn: Turn) -> None:
    _sent(draft, turn, reaches=draft.chance(90))
    if draft.chance(40):
        draft.note(turn.sent_s + 0.2, "client", Kind.TOKENS, turn.name, text=turn.half)


def left(draft: Draft, turn: Turn) -> None:
    _sent(draft, turn)
    end_s = turn.sent_s + draft.rng.choice((0.3, 1.0, 1.9, 9.0))
    draft.note(end_s, "client", Kind.CANCELLED, turn.name)


def pieces_lost(draft: Draft, turn: Turn) -> None:
    _sent(draft, turn)
    if draft.chance(50):
        draft.note(turn.sent_s + 0.2, "client", Kind.TOKENS, turn.name, text=turn.half)
    draft.note(turn.sent_s + 0.5, "client", Kind.FINISHED, turn.name, **_ending(turn.text))


def doubled(draft: Draft, turn: Turn) -> None:
    right(draft, turn)
    if draft.chance(50):
        draft.note(turn.sent_s + 1.0, "client", Kind.SENT, turn.name, **_asked(turn))
    else:
        draft.note(turn.sent_s + 1.0, "client", Kind.BROKE, turn.name, how="transport")


def moved(draft: Draft, turn: Turn) -> None:
    """To another worker than its key's."""
    other = {"decode-0": "decode-1", "decode-1": "decode-0"}[turn.decode]
    right(draft, Turn(turn.name, turn.sent_s, turn.prefill, other, turn.key, turn.text))


def _guard(draft: Draft, turn: Turn, at_s: float) -> None:
    name = draft.rng.choice(("waiting_timeout", "prefill_inflight_watchdog", "router_error_reply"))
    actor = {"waiting_timeout": turn.decode, "router_error_reply": "router"}.get(name, turn.prefill)
    draft.note(at_s, actor, Kind.GUARD, turn.name, guard=name, why="silence")


Fate = Callable[[Draft, Turn], None]
FATES: tuple[tuple[Fate, int], ...] = (
    (right, 34),
    (late, 14),
    (refused, 14),
    (never, 9),
    (broke, 9),
    (wrong, 5),
    (moved, 6),
    (aborted, 3),
    (left, 3),
    (pieces_lost, 1),
    (doubled, 1),
)
