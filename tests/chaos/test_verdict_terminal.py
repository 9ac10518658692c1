"""The plugin that tells verdicts is one that pytest can keep, beside any conftest."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.verdict_terminal import VerdictTerminal


def test_a_manager_of_plugins_can_leave_others_out_beside_it() -> None:
    """As pytest does for a test below one conftest.py of several."""
    manager, left_out = pytest.PytestPluginManager(), object()
    manager.register(VerdictTerminal(Path()))
    manager.register(left_out)
    caller = manager.subset_hook_caller("pytest_runtest_logreport", {left_out})
    assert len(caller.get_hookimpls()) >= 1
