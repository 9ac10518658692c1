"""`ci/mutate guards`: a guard is switched off, and the suite that it alone keeps green goes red."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chaos import expected_file
from chaos.expectation import Expectation
from chaos.expected_file import ExpectedFile
from chaos.history_file import read
from chaos.judge import judge
from chaos.verdict import BROKEN, Outcome, Verdict
from ci.mutants.engine import RED, ROOT, tested
from stack.guard_settings import GUARDS

SWITCHES: Final = frozenset(name for name, setting in GUARDS.items() if not setting.fixed)
EXPECTED: Final = ROOT / "suites" / "expected" / "embedded-smg.toml"


@dataclass(frozen=True, slots=True)
class Control:
    """One strike that nobody but this guard catches."""

    guard: str
    test: str
    strike: str
    expected: Expectation

    @property
    def words(self) -> tuple[str, ...]:
        """What plays it, for pytest."""
        return (f"suites/{self.test}", "--guards-off", self.guard)

    def is_noticed(self, exit_code: int, verdicts: Sequence[Verdict]) -> bool:
        """Red, and by another verdict about this strike that proves something."""
        told = [one for one in verdicts if one.strike == self.strike and one.outcome not in BROKEN]
        return exit_code == RED and any(not self.expected.is_met_by(one) for one in told)


def controls(file: ExpectedFile) -> dict[str, Control]:
    """For each guard the first line of the file, by name, in which it alone catches."""
    found: dict[str, Control] = {}
    for test, lines in sorted(file.tests.items()):
        for strike, line in lines.items():
            expected = line.expectation
            if expected.outcome is not Outcome.CAUGHT or expected.known_bug:
                continue
            for guard in expected.by if len(expected.by) == 1 else ():
                if guard in SWITCHES and not strike.startswith("play "):
                    found.setdefault(guard, Control(guard, test, strike, expected))
    return found


def main(names: Sequence[str]) -> int:
    """Those of these guards, or all. 0: each was noticed; 1: one was not; 2: bad usage."""
    known = controls(expected_file.read(EXPECTED))
    if unknown := sorted(set(names) - known.keys()):
        there = ", ".join(sorted(known))
        text = f"ci/mutate guards: no suite shows {unknown} alone; there are: {there}"
        print(text, file=sys.stderr)
        return 2
    chosen = [one for guard, one in sorted(known.items()) if not names or guard in names]
    survived = [one.guard for one in chosen if not noticed(one)]
    print(f"\n{len(chosen) - len(survived)} of {len(chosen)} noticed; not: {survived or 'none'}")
    if not names:
        print(f"caught alone by no line: {', '.join(untold(known)) or 'none'}")
    return 1 if survived else 0


def untold(known: Mapping[str, Control], all_guards: Iterable[str] = SWITCHES) -> list[str]:
    """The guards that no suite shows to be needed."""
    return sorted(set(all_guards) - known.keys())


def noticed(control: Control) -> bool:
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pdchaos-guards-") as folder:
        ended = tested((*control.words, "--report-dir", folder), ROOT)
        files = sorted((Path(folder) / "histories").glob("*.jsonl"))
        verdicts = [one for file in files for one in judge(read(file))]
    red = control.is_noticed(ended, verdicts)
    came = "; ".join(str(one) for one in verdicts) or "no history"
    took_s = time.monotonic() - began_s
    print(
        f"{control.guard:26s} {'noticed' if red else f'NOT NOTICED (exit {ended})'}: {came}"
        f" [{control.test}, {took_s:.0f} s]",
        flush=True,
    )
    return red
