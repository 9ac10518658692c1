"""What `pytest suites/` shows and where its report goes when nobody says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.pytest_plugin import report_folder
from chaos.selection import whole_folders

SUITES = Path(__file__).resolve().parent
OURS = pytest.StashKey[bool]()  # the results go where nobody else said


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """`pytest suites/` alone leaves Allure results; `ci/report` makes the page of them.

    What a command line with `--alluredir` says of its folder is the user's affair.
    """
    if not config.option.allure_report_dir:
        config.option.allure_report_dir = str(report_folder(config) / "allure-results")
        config.option.clean_alluredir = False  # not before it is known that tests will run
        config.stash[OURS] = True
    # An experiment takes seconds: each is told with its verdict as it ends, unless -q was asked.
    if config.option.verbose == 0 and not config.option.collectonly:
        config.option.verbose = 1


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Only a run of everything begins with an empty folder: one test that is played again stands
    beside the run that it was a part of, and Allure takes it for that test's retry.

    Only now: a run that was refused, or that shows fixtures, plays nothing. A parallel worker that
    takes another one's place begins nothing.
    """
    config = session.config
    whole = any(SUITES.is_relative_to(one) for one in whole_folders(config))
    if whole and config.stash.get(OURS, False) and not hasattr(config, "workerinput"):
        for file in Path(config.option.allure_report_dir).glob("*"):
            if file.is_file():
                file.unlink()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Quick ones first, and of them the soak's: the first verdict is there within seconds."""
    marks = {item: {mark.name for mark in item.iter_markers()} for item in items}
    items.sort(key=lambda item: ("quick" not in marks[item], "soak" not in marks[item]))
