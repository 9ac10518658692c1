"""What `pytest suites/` shows and where its report goes when nobody says otherwise."""

from __future__ import annotations

import pytest

from chaos.pytest_plugin import report_folder
from chaos.selection import whole_folders


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """`pytest suites/` alone leaves Allure results; `ci/report` makes the page of them.

    Only a run of everything begins with an empty folder: one test that is played again stands
    beside the run that it was a part of, and Allure takes it for that test's retry.
    """
    if not config.option.allure_report_dir:
        config.option.allure_report_dir = str(report_folder(config) / "allure-results")
        config.option.clean_alluredir = bool(whole_folders(config))
    # An experiment takes seconds: each is told with its verdict as it ends, unless -q was asked.
    if config.option.verbose == 0 and not config.option.collectonly:
        config.option.verbose = 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Quick ones first, and of them the soak's: the first verdict is there within seconds."""
    marks = {item: {mark.name for mark in item.iter_markers()} for item in items}
    items.sort(key=lambda item: ("quick" not in marks[item], "soak" not in marks[item]))
