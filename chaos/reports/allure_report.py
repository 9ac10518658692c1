"""Labels and attachments for Allure. Optional: without allure-pytest nothing happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

from chaos.history import History
from chaos.reports.redaction import redacted_text
from chaos.reports.timeline import timeline_svg
from chaos.verdict import Verdict

TEXT, SVG = ("text/plain", "txt"), ("image/svg+xml", "svg")


class _Labels(Protocol):
    def epic(self, *names: str) -> None: ...
    def feature(self, *names: str) -> None: ...
    def story(self, *names: str) -> None: ...
    def parameter(self, name: str, value: str) -> None: ...


class _Attach(Protocol):
    def __call__(self, body: str, name: str, attachment_type: str, extension: str) -> None: ...


class _Allure(Protocol):
    """The part of the module `allure` that we use; it comes without types of its own."""

    dynamic: _Labels
    attach: _Attach


def label(history: History) -> None:
    """Epic = stack, feature = stage, story = fault: the three levels of the behaviours tab.

    The stack is a parameter too: else a report of two stacks shows of each test the last one only,
    and takes the other for its retry.
    """
    allure = _allure()
    if allure is None:
        return
    spec = history.specification
    allure.dynamic.epic(spec.stack)
    allure.dynamic.parameter("stack", spec.stack)
    for strike in spec.strikes:
        allure.dynamic.feature(strike.stage.value)
        allure.dynamic.story(strike.fault)
    if not spec.strikes:
        allure.dynamic.feature("fault-free")


def file_under(epic: str) -> None:
    """For a test that plays no experiment: its place beside the stacks."""
    if (allure := _allure()) is not None:
        allure.dynamic.epic(epic)


def attach(
    history: History, verdicts: Sequence[Verdict], file: Path, texts: Mapping[str, str]
) -> None:
    """The picture, the history as it was written to `file`, and each text that is not empty."""
    allure = _allure()
    if allure is None:
        return
    listed = "\n".join(f"{one.strike}: {one}: {one.reason}" for one in verdicts)
    allure.attach(timeline_svg(history, verdicts), "timeline", *SVG)
    allure.attach(listed, "verdicts", *TEXT)
    allure.attach(redacted_text(file.read_text(encoding="utf-8")), "history", TEXT[0], "jsonl")
    for name, text in texts.items():
        if text:
            allure.attach(redacted_text(text), name, *TEXT)


def _allure() -> _Allure | None:
    return cast("_Allure", import_module("allure")) if find_spec("allure") else None
