"""One line of an expected file: the verdict that one strike gets on this stack, and from whom."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from chaos.verdict import BROKEN, Outcome, Verdict

FIELDS = ("verdict", "by", "why", "known_bug")


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must come, exactly. ValueError for what can never be expected.

    `by` holds the names as a verdict tells them ("a+b" where two guards caught). Several entries
    are alternatives: each name that comes must be one of theirs, and `why` says what decides.
    """

    outcome: Outcome
    by: tuple[str, ...] = ()  # empty: nobody is named
    why: str | None = None
    known_bug: str | None = None  # of an engine or a router: the verdict that should not be

    def __post_init__(self) -> None:
        if self.outcome in BROKEN:
            raise ValueError(f"{self.outcome.value} proves nothing: it can never be expected")
        if (len(self.by) > 1) != (self.why is not None):
            raise ValueError("several names in `by` need a `why`, and one name has none")
        for name, text in (("why", self.why), ("known_bug", self.known_bug)):
            if text is not None and (not text.strip() or "\n" in text):
                raise ValueError(f"{name}: expected a reason, in one line")

    def is_met_by(self, verdict: Verdict) -> bool:
        if verdict.outcome is not self.outcome:
            return False
        if len(self.by) > 1:
            either = frozenset[str]().union(*map(names, self.by))
            return verdict.by is not None and names(verdict.by) <= either
        return verdict.by == (self.by[0] if self.by else None)

    def __str__(self) -> str:
        by = f" by {' or '.join(self.by)}" if self.by else ""
        return f"{self.outcome.value}{by}"


def names(by: str | None) -> frozenset[str]:
    """Each guard that a verdict names; two that caught are joined by "+"."""
    return frozenset(by.split("+")) if by else frozenset()


def came(verdict: Verdict, before: Expectation | None) -> Expectation:
    """What would have to stand there for this verdict. ValueError for one that proves nothing.

    Alternatives that were known get one more, and the reasons that a person wrote stay.
    """
    by = (verdict.by,) if verdict.by else ()
    if before is None:
        return Expectation(verdict.outcome, by)
    if len(before.by) > 1 and before.outcome is verdict.outcome and verdict.by:
        new = sorted(names(verdict.by).difference(*map(names, before.by)))
        return replace(before, by=(*before.by, *new))
    return Expectation(verdict.outcome, by, known_bug=before.known_bug)


def to_line(key: str, expectation: Expectation) -> str:
    """One line of TOML: `"1: stall" = { verdict = "CAUGHT", by = "a_guard" }`."""
    by = expectation.by
    told = {
        "verdict": quoted(expectation.outcome.value),
        "by": f"[{', '.join(map(quoted, by))}]" if len(by) > 1 else "".join(map(quoted, by)),
        "why": quoted(expectation.why or ""),
        "known_bug": quoted(expectation.known_bug or ""),
    }
    inside = ", ".join(f"{name} = {text}" for name, text in told.items() if text not in ("", '""'))
    return f"{quoted(key)} = {{ {inside} }}"


def quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are TOML's, but for DEL, which JSON leaves alone."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def from_table(told: object) -> Expectation:
    """ValueError or TypeError: what does not exist, or cannot be expected."""
    if not isinstance(told, dict):
        raise TypeError(f'expected {{ verdict = "...", by = "..." }}, came {told!a}')
    table = cast("Mapping[str, object]", told)
    if unknown := [name for name in table if name not in FIELDS]:
        raise ValueError(f"unknown key {unknown[0]!a}; known are: {', '.join(FIELDS)}")
    verdict = table.get("verdict")
    if not isinstance(verdict, str) or verdict not in Outcome.__members__:
        known = ", ".join(one.value for one in Outcome if one not in BROKEN)
        raise ValueError(f"unknown verdict {verdict!a}; expected one of {known}")
    by = _by(table["by"]) if "by" in table else ()
    return Expectation(Outcome[verdict], by, _text(table, "why"), _text(table, "known_bug"))


def _by(told: object) -> tuple[str, ...]:
    listed = [told] if isinstance(told, str) else told
    if not isinstance(listed, list):
        raise TypeError(f"by: expected a name or a list of names, came {told!a}")
    some = cast("Sequence[object]", listed)
    by = tuple(one for one in some if isinstance(one, str) and one)
    if not by or len(by) < len(some):
        raise ValueError(f"by: expected a name or a list of names, came {told!a}")
    if len(set(by)) < len(by):
        raise ValueError(f"by: expected each name once, came {told!a}")
    return by


def _text(table: Mapping[str, object], name: str) -> str | None:
    told = table.get(name)
    if told is not None and not isinstance(told, str):
        raise TypeError(f"{name}: expected a reason, in one line, came {told!a}")
    return told
