"""A specification as JSON and back: it travels in the first line of a history's file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import cast

from chaos.specification import Alert, Budgets, Specification, StrikeSpec
from chaos.stage import FaultKind, Stage
from chaos.verdict import Allowed, Outcome

Object = Mapping[str, object]


def to_json(specification: Specification) -> dict[str, object]:
    told = asdict(specification)
    told["strikes"] = [
        {
            **asdict(one),
            "stage": one.stage.value,
            "kind": one.kind.value,
            "nodes": list(one.nodes),
            "about": list(one.about),
        }
        for one in specification.strikes
    ]
    told["allowed"] = [
        {"outcome": one.outcome.value, "by": one.by} for one in specification.allowed
    ]
    return told


def from_json(told: object) -> Specification:
    """ValueError: a field is missing, unknown, or not what it should be."""
    try:
        return _specification(_object(told))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no specification of ours: {type(error).__name__}: {error}") from error


def _specification(told: Object) -> Specification:
    _known(told, {one.name for one in fields(Specification)})
    return Specification(
        name=str(told["name"]),
        seed=_whole(told["seed"]),
        stack=str(told["stack"]),
        workload=str(told["workload"]),
        concurrency=_whole(told["concurrency"]),
        budgets=Budgets(**_numbers(told["budgets"])),
        guards=_numbers(told["guards"]),
        patience=_numbers(told.get("patience", {})),
        alerts=tuple(_alert(one) for one in _objects(told["alerts"])),
        strikes=tuple(_strike(one) for one in _objects(told["strikes"])),
        allowed=tuple(_allowed(one) for one in _objects(told["allowed"])),
        deterministic=told.get("deterministic") is not False,  # older histories do not tell
    )


def _alert(told: Object) -> Alert:
    return Alert(
        str(told["name"]),
        str(told["reading"]),
        str(told["op"]),
        _number(told["threshold"]),
        _number(told["for_s"]),
        whole_stack=told.get("whole_stack") is True,
    )


def _strike(told: Object) -> StrikeSpec:
    return StrikeSpec(
        str(told["strike"]),
        str(told["fault"]),
        Stage(told["stage"]),
        FaultKind(told["kind"]),
        str(told["trigger"]),
        _number(told["for_s"]),
        _texts(told, "nodes"),
        alive=told.get("alive") is True,
        about=_texts(told, "about"),
    )


def _texts(told: Object, name: str) -> tuple[str, ...]:
    """A list of texts that may be missing."""
    texts = told.get(name, [])
    if not isinstance(texts, list):
        raise TypeError(f"{name} must be a list, not {texts!r}")
    return tuple(str(one) for one in cast("list[object]", texts))


def _allowed(told: Object) -> Allowed:
    by = told["by"]
    return Allowed(Outcome(told["outcome"]), None if by is None else str(by))


def _known(told: Object, names: set[str]) -> None:
    if unknown := set(told) - names:
        raise TypeError(f"unknown fields: {', '.join(sorted(unknown))}")


def _object(told: object) -> Object:
    if not isinstance(told, dict):
        raise TypeError(f"expected an object, not {told!r}")
    return cast("Object", told)


def _objects(told: object) -> list[Object]:
    if not isinstance(told, list | tuple):
        raise TypeError(f"expected a list, not {told!r}")
    return [_object(one) for one in cast("list[object]", told)]


def _numbers(told: object) -> dict[str, float]:
    return {name: _number(value) for name, value in _object(told).items()}


def _number(told: object) -> float:
    if isinstance(told, bool) or not isinstance(told, int | float):
        raise TypeError(f"expected a number, not {told!r}")
    return told


def _whole(told: object) -> int:
    if isinstance(told, bool) or not isinstance(told, int):
        raise TypeError(f"expected a whole number, not {told!r}")
    return told
