"""Goal: a run of everything is told from a run of a part, for what it may empty and call stale."""

from __future__ import annotations

import pytest

from chaos.selection import whole_folders

pytest_plugins = ["pytester"]
ALONE = ("-pno:xdist", "-pno:hypothesispytest", "-pno:allure_pytest", "-pno:pd_chaos")


@pytest.fixture
def folder(pytester: pytest.Pytester) -> pytest.Pytester:
    (pytester.path / "suites").mkdir()
    (pytester.path / "suites" / "test_a.py").write_text("def test_it(): pass\n")
    return pytester


@pytest.mark.parametrize("words", [("suites",), ("suites/", "-v"), ("suites", "-x")])
def test_a_folder_alone_is_all_of_it(folder: pytest.Pytester, words: tuple[str, ...]) -> None:
    config = folder.parseconfig(*ALONE, *words)
    assert whole_folders(config) == (folder.path / "suites",)


@pytest.mark.parametrize(
    "words",
    [
        ("suites/test_a.py",),
        ("suites/test_a.py::test_it",),
        ("suites", "-k", "it"),
        ("suites", "-m", "quick"),
        ("suites", "--deselect", "suites/test_a.py::test_it"),
        ("suites", "--ignore", "suites/test_a.py"),
        ("suites", "--collect-only"),
        ("suites", "--setup-plan"),
        ("suites", "--setup-only"),
    ],
)
def test_whatever_leaves_a_test_out_makes_it_a_part(
    folder: pytest.Pytester, words: tuple[str, ...]
) -> None:
    assert whole_folders(folder.parseconfig(*ALONE, *words)) == ()
