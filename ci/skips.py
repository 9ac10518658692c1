"""A skip is a promise not kept yet: each reason, and how often it is given, is asserted.

Usage: python ci/skips.py NAME JUNIT_XML. ci/skips.json maps each NAME to {regex of a reason: how
many skips give it}. PDCHAOS_MACHINE=gpu asks for "NAME on gpu" instead.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast
from xml.etree import ElementTree as ET

ALLOWED = Path(__file__).with_name("skips.json")
UNPROVEN = Path(__file__).with_name("unproven.json")


def reasons(junit: Path) -> Counter[str]:
    """How often each reason to skip was given; an expected failure is none."""
    tree = ET.parse(junit)  # noqa: S314 - our own pytest wrote this file
    given = (one for one in tree.iter("skipped") if one.get("type") != "pytest.xfail")
    return Counter(one.get("message", "") for one in given)


def complaints(seen: Mapping[str, int], allowed: Mapping[str, int]) -> list[str]:
    """One line for each reason that nobody allowed, and each count that is another."""
    counted = Counter[str]()
    lines: list[str] = []
    for reason, count in seen.items():
        pattern = next((one for one in allowed if re.search(one, reason)), None)
        if pattern is None:
            lines.append(f"{count} skipped, which nobody allowed: {reason}")
        else:
            counted[pattern] += count
    for pattern, count in allowed.items():
        if counted[pattern] != count:
            lines.append(f"expected {count} skips, came {counted[pattern]}: /{pattern}/")
    return lines


def unproven(seen: Mapping[str, int]) -> list[str]:
    """One line for each thing that this machine lacks: how many skips, and what they leave open."""
    known = cast("dict[str, str]", json.loads(UNPROVEN.read_text()))
    counted = Counter[str]()
    for reason, count in seen.items():
        pattern = next((one for one in known if re.search(one, reason)), None)
        left = known[pattern] if pattern else "something: nobody wrote down what"
        counted[f"{reason.removeprefix('Skipped: ')}. Left unproven: {left}"] += count
    return [f"{count} skipped: {line}" for line, count in counted.most_common()]


def main(words: Sequence[str]) -> int:
    name, junit = words[0], Path(words[1])
    if os.environ.get("PDCHAOS_MACHINE") == "gpu":
        name = f"{name} on gpu"
    allowed = cast("dict[str, dict[str, int]]", json.loads(ALLOWED.read_text()))
    if name not in allowed:
        print(
            f"skips: no run is called {name}; {ALLOWED.name} has {', '.join(allowed)}",
            file=sys.stderr,
        )
        return 2
    if not junit.exists():
        print(f"skips: {junit} was not written: pytest did not come to its end", file=sys.stderr)
        return 1
    seen = reasons(junit)
    wrong = complaints(seen, allowed.get(name, {}))
    print(f"skips: {seen.total()} in {name}" + ("" if wrong else ", each of them expected"))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
