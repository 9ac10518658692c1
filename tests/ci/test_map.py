"""README's map is what the modules say of themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "ci" / "map.py"


def test_the_map_in_the_readme_is_current() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--check"], timeout=60, check=False)
    assert done.returncode == 0, "run `python ci/map.py`"


def test_an_outdated_map_is_noticed(tmp_path: Path) -> None:
    for folder in ("chaos", "stack", "kernels", "faults", "suites", "ci"):
        (tmp_path / folder).mkdir()
    copy = tmp_path / "ci" / "map.py"
    copy.write_text(SCRIPT.read_text())
    (tmp_path / "chaos" / "clock.py").write_text('"""Tells the time."""\n')
    readme = tmp_path / "README.md"
    readme.write_text("# x\n<!-- map: python ci/map.py -->\n<!-- end of map -->\n")
    assert (
        subprocess.run([sys.executable, copy, "--check"], timeout=60, check=False).returncode == 1
    )
    assert subprocess.run([sys.executable, copy], timeout=60, check=False).returncode == 0
    assert "| `clock` | Tells the time. |" in readme.read_text()
    assert (
        subprocess.run([sys.executable, copy, "--check"], timeout=60, check=False).returncode == 0
    )
