"""A whole run of tests/ goes to two workers; whoever says how, or asks for a part, has one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from tests.conftest import HERE, LONGEST, first_come_the_longest, is_whole

PLAIN = {
    "keyword": "", "markexpr": "", "deselect": None, "collectonly": False,
    "usepdb": False, "capture": "fd", "numprocesses": None, "dist": "no",
}  # fmt: skip


def asked(args: list[str], **options: object) -> bool:
    told = SimpleNamespace(args=args, option=SimpleNamespace(**PLAIN | options))
    return is_whole(cast("pytest.Config", told))


@pytest.mark.parametrize("args", [["tests/"], ["tests"], [str(HERE)]])
def test_the_line_of_the_readme_is_a_whole_run(
    args: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(HERE.parent)
    assert asked(args)


@pytest.mark.parametrize("args", [["suites/"], ["tests/ci"], ["tests/", "suites/"], []])
def test_another_place_is_none(args: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE.parent)
    assert not asked(args)


@pytest.mark.parametrize(
    "option",
    [
        {"keyword": "judge"}, {"markexpr": "quick"}, {"deselect": ["tests/ci"]},
        {"collectonly": True}, {"usepdb": True}, {"capture": "no"}, {"numprocesses": 0},
        {"numprocesses": 4}, {"dist": "load"},
    ],
)  # fmt: skip
def test_whoever_says_how_is_obeyed(option: dict[str, object]) -> None:
    assert not asked([str(HERE)], **option)


def test_the_files_that_take_longest_come_first_and_the_others_keep_their_order() -> None:
    others = [HERE / "ci/test_map.py", HERE / "chaos/test_judge.py"]
    longest = [HERE / one for one in LONGEST]
    assert all(one.is_file() for one in longest)
    assert sorted([*others, *reversed(longest)], key=first_come_the_longest) == [*longest, *others]
