"""What ships: the four packages, the licence, our door into pytest; no test and no script of CI."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.architecture.source import PACKAGES, ROOT, files

LIMIT_S = 60


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    into = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    child = subprocess.run(
        [*build, str(into)], cwd=ROOT, timeout=LIMIT_S, capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, child.stderr
    return ZipFile(next(into.glob("*.whl")))


def test_only_our_packages_ship(wheel: ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


def test_every_file_of_our_packages_ships(wheel: ZipFile) -> None:
    ours = {path.relative_to(ROOT).as_posix() for path in files(ROOT, PACKAGES)}
    assert "chaos/pytest_plugin.py" in ours
    assert ours - set(wheel.namelist()) == set()


def test_the_licence_and_the_door_into_pytest_ship(wheel: ZipFile) -> None:
    names = {Path(name).name: name for name in wheel.namelist() if ".dist-info" in name}
    assert b"Apache License" in wheel.read(names["LICENSE"])
    assert b"pd_chaos = chaos.pytest_plugin" in wheel.read(names["entry_points.txt"])
