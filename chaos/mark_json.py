"""One mark as one JSON object and back: in a node's trace and in a history's file alike."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from chaos.event import Event, Json, Kind, Mark
from chaos.stage import Stage

# The values of a mark, or of an event without its place.
Row = tuple[int, str, Kind, str, Stage | None, int | None, Mapping[str, Json]]

KINDS = {kind.value: kind for kind in Kind}
STAGES = {stage.value: stage for stage in Stage}

_text = json.encoder.encode_basestring_ascii
_encode = json.JSONEncoder(separators=(",", ":")).encode
_NAMES = {one: _text(one.value) for one in (*Kind, *Stage)}


def dump(mark: Mark | Event) -> str:
    """One line without its end; what is None or empty is left out.

    Put together by hand, with json's own parts: json.dumps takes four times as long, and each mark
    of a run is written while it happens.
    """
    stage = "" if mark.stage is None else f',"stage":{_NAMES[mark.stage]}'
    attempt = "" if mark.attempt is None else f',"attempt":{mark.attempt}'
    detail = f',"detail":{_encode(dict(mark.detail))}' if mark.detail else ""
    head = f'{{"at_ns":{mark.at_ns},"actor":{_text(mark.actor)},"kind":{_NAMES[mark.kind]}'
    return f'{head},"about":{_text(mark.about)}{stage}{attempt}{detail}}}'


def row(told: Mapping[str, object]) -> Row:
    """A mark's values. ValueError, with what was expected and what came, when this is no mark."""
    at_ns, actor, about = told.get("at_ns"), told.get("actor"), told.get("about")
    kind = KINDS.get(str(told.get("kind")))
    if not (isinstance(at_ns, int) and isinstance(actor, str) and isinstance(about, str)):
        raise _malformed(f"a mark has at_ns (a whole number), actor and about (texts): {told}")
    if kind is None:
        raise ValueError(f"unknown kind of mark: {told.get('kind')!r}")
    return at_ns, actor, kind, about, _stage(told), _attempt(told), _detail(told)


def _stage(told: Mapping[str, object]) -> Stage | None:
    name = told.get("stage")
    if name is None:
        return None
    if str(name) not in STAGES:
        raise ValueError(f"unknown stage: {name!r}")
    return STAGES[str(name)]


def _attempt(told: Mapping[str, object]) -> int | None:
    attempt = told.get("attempt")
    if attempt is None or isinstance(attempt, int):
        return attempt
    raise ValueError(f"an attempt is a bootstrap room, a whole number, not {attempt!r}")


def _detail(told: Mapping[str, object]) -> Mapping[str, Json]:
    detail = told.get("detail")
    if detail is None:
        return {}
    if not isinstance(detail, dict):
        raise _malformed(f"detail is a JSON object, not {detail!r}")
    return cast("Mapping[str, Json]", detail)


def _malformed(why: str) -> ValueError:
    """What a file says is input, so a wrong type in it is a wrong value."""
    return ValueError(why)
