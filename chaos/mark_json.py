"""One mark as one JSON object and back: in a node's trace and in a history's file alike."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from chaos.event import Event, Json, Kind, Mark
from chaos.stage import Stage

KINDS = {kind.value: kind for kind in Kind}
STAGES = {stage.value: stage for stage in Stage}


def dump(mark: Mark | Event) -> str:
    """One line without its end; what is None or empty is left out."""
    told: dict[str, object] = {
        "at_ns": mark.at_ns,
        "actor": mark.actor,
        "kind": mark.kind.value,
        "about": mark.about,
    }
    if mark.stage is not None:
        told["stage"] = mark.stage.value
    if mark.attempt is not None:
        told["attempt"] = mark.attempt
    if mark.detail:
        told["detail"] = dict(mark.detail)
    return json.dumps(told, separators=(",", ":"))


def mark(told: Mapping[str, object]) -> Mark:
    """ValueError, with what was expected and what came, when this is no mark."""
    at_ns, actor, about = told.get("at_ns"), told.get("actor"), told.get("about")
    kind = KINDS.get(str(told.get("kind")))
    if not (isinstance(at_ns, int) and isinstance(actor, str) and isinstance(about, str)):
        raise _malformed(f"a mark has at_ns (a whole number), actor and about (texts): {told}")
    if kind is None:
        raise ValueError(f"unknown kind of mark: {told.get('kind')!r}")
    return Mark(at_ns, actor, kind, about, _stage(told), _attempt(told), _detail(told))


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
