"""What the terminal tells of verdicts: behind each test, and all of them at the end of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chaos.reports.matrix import Judged, list_text, matrix_text, verdicts_text
from chaos.reports.printable import printable
from chaos.reports.rows import unpacked

ROWS = "pd-chaos"  # the user property that carries verdicts from xdist's workers to the terminal
UNDECIDED = "pd-chaos undecided"  # ... and what was played again, with its reason


@dataclass(eq=False)  # pluggy keeps plugins in sets
class VerdictTerminal:
    """A plugin of pytest's: it hears every report, also those of parallel workers."""

    histories: Path
    undecided: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and (whys := properties(report, UNDECIDED)):
            self.undecided[report.nodeid] = whys

    def pytest_report_teststatus(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> tuple[str, str, str] | None:
        """With -v a test that has played ends with its verdicts instead of PASSED."""
        rows = rows_of(report)
        if not rows or report.skipped:
            return None
        told = verdicts_text(rows)
        if again := len(properties(report, UNDECIDED)):
            told += f" (played again {again}x)"
        return ("passed", ".", told) if report.passed else ("failed", "F", f"FAILED, {told}")

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The stage x fault matrix, and one line per strike."""
        reports = (one for reports in terminalreporter.stats.values() for one in reports)
        rows = [row for one in reports for row in rows_of(one)]
        if not rows:
            return
        terminalreporter.write_sep("=", "verdicts")
        terminalreporter.write_line(list_text(rows))
        terminalreporter.write_sep("=", "stage x fault")
        terminalreporter.write_line(matrix_text(rows))
        if self.undecided:
            terminalreporter.write_sep("=", "played again: the machine was too busy")
            terminalreporter.write_line(self._told_again())
        terminalreporter.write_line(f"histories: {self.histories}")

    def _told_again(self) -> str:
        told = [(test, why) for test, whys in self.undecided.items() for why in whys]
        lines = [printable(f"  {test}: {why}") for test, why in told]
        count = f"{len(lines)} plays of {len(self.undecided)} tests proved nothing, by the machine"
        return "\n".join([*lines, f"{count}; nothing else is ever played again"])


def properties(report: object, name: str) -> list[str]:
    """The values of this user property that a test's report carries; no other report has any."""
    told = report.user_properties if isinstance(report, pytest.TestReport) else []
    return [str(value) for key, value in told if key == name]


def rows_of(report: object) -> list[Judged]:
    """The verdicts of a test's call."""
    if not isinstance(report, pytest.TestReport) or report.when != "call":
        return []
    return [unpacked(value) for value in properties(report, ROWS)]
