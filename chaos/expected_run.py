"""What a whole run makes of its expected files: stale lines are red, and `--accept` writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chaos.comparison import Difference
from chaos.expectation import Expectation
from chaos.expected_file import parsed, read, write
from chaos.verdict_terminal import properties

TOLD = "pd-chaos expected"  # the user property that carries what a test used to the end of the run
PHASES = ("setup", "call", "teardown")
ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


@dataclass
class Seen:
    """One test, as its reports told it."""

    keys: set[str] = field(default_factory=set[str])
    called: bool = False
    cut_short: bool = False  # it failed, was skipped, or ended as an expected failure
    changes: dict[str, Expectation] = field(default_factory=dict[str, Expectation])


@dataclass(eq=False)  # pytest keeps its plugins in sets
class ExpectedRun:
    """A plugin of pytest's, for the process that hears of every test of a run."""

    accept: bool
    whole: tuple[Path, ...]  # of these folders every test was to be run
    tests: dict[Path, dict[str, Seen]] = field(default_factory=dict[Path, dict[str, Seen]])
    stale: list[str] = field(default_factory=list[str])
    written: list[str] = field(default_factory=list[str])
    unheard: set[str] = field(default_factory=set[str])  # node ids that may hide tests

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that was skipped, or failed, as a whole: nobody knows which tests are in it."""
        if not report.passed:
            self.unheard.add(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when not in PHASES:  # its parallel worker died of it, and tells nothing more
            self.unheard.add(report.nodeid)
        for text in properties(report, TOLD):
            told = json.loads(text)
            seen = self.tests.setdefault(Path(told["file"]), {}).setdefault(told["test"], Seen())
            seen.keys.update(told["keys"])
            seen.changes.update(parsed(line) for line in told["lines"])
            seen.called |= report.when == "call"
            seen.cut_short |= not report.passed or hasattr(report, "wasxfail")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus not in ENDED or session.shouldstop or session.shouldfail:
            return
        hidden = [session.config.rootpath / one for one in self.unheard]
        for path, tests in self.tests.items():
            stale = list(self._stale(path, tests, hidden)) if path.is_file() else []
            if self.accept:
                self._write(path, tests, stale)
            else:
                self.stale += (f"{where}: {why}" for _, _, where, why in stale)
        if self.stale:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _stale(
        self, path: Path, tests: dict[str, Seen], hidden: Sequence[Path]
    ) -> Iterator[tuple[str, str, str, str]]:
        """Lines that nothing comes to any more: of a test that is gone, or of a strike that is."""
        file = read(path)
        whole = any(path.is_relative_to(folder) for folder in self.whole)
        for test, strikes in file.tests.items():
            seen = tests.get(test)
            gone = seen is None and whole and not _is_hidden(path.parent.parent / test, hidden)
            for key in strikes:
                if gone:
                    yield test, key, file.where(test, key), f"stale: there is no test {test}"
                elif seen and seen.called and not seen.cut_short and key not in seen.keys:
                    why = f"stale: {test} did not play {key!r}"
                    yield test, key, file.where(test, key), why

    def _write(
        self, path: Path, tests: dict[str, Seen], stale: Sequence[tuple[str, str, str, str]]
    ) -> None:
        changes: dict[tuple[str, str], Expectation | None] = {
            (test, key): new for test, seen in tests.items() for key, new in seen.changes.items()
        }
        changes |= {(test, key): None for test, key, _, _ in stale}
        if not changes:
            return
        try:
            write(path, changes, f"What each strike gets on {path.stem}, and from whom.")
        except OSError as error:
            self.stale.append(f"{path}: --accept could not write it: {error.strerror or error}")
        else:
            self.written.append(f"{path}: {len(changes)} lines written; a person reviews them")

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.stale:
            terminalreporter.write_sep("=", "expected verdicts", red=True)
        for line in (*self.stale, *self.written, *self._unwritten()):
            terminalreporter.write_line(line)

    def _unwritten(self) -> Iterator[str]:
        for path in self.tests:
            if not path.exists() and path.parent.is_dir():
                yield f"no {path}: judged by the promises alone (--accept would write it)"


def _is_hidden(test: Path, hidden: Sequence[Path]) -> bool:
    """In a file, or a folder, that nobody heard of; or the very test whose worker died."""
    file = Path(str(test).partition("::")[0])
    return test in hidden or any(file.is_relative_to(one) for one in hidden)


def told(
    file: Path, test: str, keys: Sequence[str] = (), accepted: Sequence[Difference] = ()
) -> tuple[str, str]:
    """The user property of one test: which lines it used, and those that are to be written."""
    lines = [one.line for one in accepted]
    text = {"file": str(file), "test": test, "keys": list(keys), "lines": lines}
    return TOLD, json.dumps(text)
