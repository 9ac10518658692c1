"""What all stacks of a run stand on, where a machine makes that hard."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from stack.ground import Ground


def test_a_directory_too_long_for_its_sockets_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("x" * 100)))
    with pytest.raises(ValueError, match="TMPDIR: the kernel allows"):
        Ground()


def test_a_ground_is_private_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    short = Path(tempfile.mkdtemp())
    monkeypatch.setattr(tempfile, "tempdir", str(short))
    with Ground() as ground:
        assert ground.directory.parent == short
        assert ground.directory.stat().st_mode & 0o077 == 0
        first = ground.stack_directory("1p1d")
        assert first != ground.stack_directory("1p1d")
        guardian = ground.guardian.pid
    assert list(short.iterdir()) == []
    assert not Path(f"/proc/{guardian}").exists()
    short.rmdir()


def test_a_switchboard_is_used_again_without_the_links_it_had() -> None:
    with Ground() as ground:
        with ground.switchboard() as first:
            first.link("client->router", "127.0.0.1", 9, 0)
        with ground.switchboard() as again:
            assert again is first
            assert dict(again.links) == {}
            with ground.switchboard() as other:
                assert other is not first
