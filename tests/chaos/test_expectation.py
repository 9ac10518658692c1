"""Goal: a line of an expected file is met by exactly what it says, and can say nothing absurd."""

from __future__ import annotations

import tomllib

import pytest

from chaos.expectation import Expectation, came, from_table, to_line
from chaos.verdict import Outcome, Verdict

CAUGHT = Outcome.CAUGHT


def verdict(outcome: Outcome = CAUGHT, by: str | None = "a") -> Verdict:
    return Verdict("1: freeze", outcome, "why", by=by)


@pytest.mark.parametrize(
    ("by", "name", "met"),
    [
        (("a",), "a", True),
        (("a",), "b", False),
        (("a",), "a+b", False),
        (("a",), None, False),
        ((), None, True),
        ((), "a", False),
        (("a+b",), "a+b", True),
        (("a+b",), "a", False),
        (("a", "b"), "a", True),
        (("a", "b"), "a+b", True),
        (("a", "b"), "a+c", False),
        (("a", "b"), None, False),
    ],
)
def test_the_names_must_be_those_that_stand_there(
    by: tuple[str, ...],
    name: str | None,
    met: bool,  # noqa: FBT001 - pytest hands it over by its name
) -> None:
    line = Expectation(CAUGHT, by, "timing" if len(by) > 1 else None)
    assert line.is_met_by(verdict(by=name)) is met


def test_another_outcome_by_the_same_guard_does_not_meet_it() -> None:
    assert not Expectation(CAUGHT, ("a",)).is_met_by(verdict(Outcome.SURFACED))
    assert not Expectation(CAUGHT, ("a",)).is_met_by(verdict(Outcome.TOLERATED))


@pytest.mark.parametrize("outcome", [Outcome.UNKNOWN, Outcome.NO_OP])
def test_what_proves_nothing_cannot_be_expected(outcome: Outcome) -> None:
    with pytest.raises(ValueError, match="never be expected"):
        Expectation(outcome)
    with pytest.raises(ValueError, match="never be expected"):
        came(verdict(outcome), None)


def test_alternatives_need_a_reason_and_a_single_name_has_none() -> None:
    with pytest.raises(ValueError, match="need a `why`"):
        Expectation(CAUGHT, ("a", "b"))
    with pytest.raises(ValueError, match="one name has none"):
        Expectation(CAUGHT, ("a",), "timing")


def test_a_reason_is_one_line() -> None:
    with pytest.raises(ValueError, match="in one line"):
        Expectation(Outcome.LEAKED, known_bug="two\nlines")
    with pytest.raises(ValueError, match="in one line"):
        Expectation(Outcome.LEAKED, known_bug=" ")


def test_what_came_takes_the_line_s_place_and_reasons_stay() -> None:
    assert came(verdict(), None) == Expectation(CAUGHT, ("a",))
    bug = Expectation(Outcome.SILENT, known_bug="nobody tells")
    assert came(verdict(Outcome.SURFACED, "page"), bug) == Expectation(
        Outcome.SURFACED, ("page",), known_bug="nobody tells"
    )
    either = Expectation(CAUGHT, ("a", "b"), "timing")
    assert came(verdict(by="b+c"), either) == Expectation(CAUGHT, ("a", "b", "c"), "timing")


@pytest.mark.parametrize(
    "expectation",
    [
        Expectation(Outcome.TOLERATED),
        Expectation(CAUGHT, ("a",)),
        Expectation(CAUGHT, ("a", "b"), 'the "first" of both'),
        Expectation(Outcome.SILENT, known_bug="nobody \\ tells\tit"),
    ],
)
@pytest.mark.parametrize(
    "key", ["1: A=b on decode-0->prefill-0/kv", 'a "quoted" \\ one', "\x7f\u2028"]
)
def test_a_line_is_toml_and_reads_back_as_it_was(key: str, expectation: Expectation) -> None:
    line = to_line(key, expectation)
    assert "\n" not in line
    ((read, table),) = tomllib.loads(line).items()
    assert read == key
    assert from_table(table) == expectation


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({"verdict": "SILNT"}, "unknown verdict 'SILNT'; expected one of TOLERATED, CAUGHT"),
        ({"by": "a"}, "unknown verdict None"),
        ({"verdict": "CAUGHT", "bye": "a"}, "unknown key 'bye'; known are: verdict, by, why"),
        ({"verdict": "CAUGHT", "by": 3}, "by: expected a name or a list of names, came 3"),
        ({"verdict": "CAUGHT", "by": [""]}, "by: expected a name"),
        ({"verdict": "CAUGHT", "by": []}, "by: expected a name"),
        ({"verdict": "CAUGHT", "by": ["a", "b", "a"], "why": "."}, "by: expected each name once"),
        ({"verdict": "SILENT", "known_bug": True}, "known_bug: expected a reason"),
        ("CAUGHT", "came 'CAUGHT'"),
    ],
)
def test_bad_input_says_what_was_expected_and_what_came(table: object, why: str) -> None:
    with pytest.raises((TypeError, ValueError), match=why):
        from_table(table)
