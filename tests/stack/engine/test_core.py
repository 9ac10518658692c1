"""The engine's arithmetic: tokens depend on the whole prompt and on nothing else."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
BOUND_S = 120.0


def experiment(name: str, count: int) -> dict[str, Any]:
    """Runs where torch may be imported; pytest's own process never does."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.stack.engine.core_process", name, str(count)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_300_requests_in_mixed_batches_are_as_one_at_a_time() -> None:
    seen = experiment("mixed_batches", 300)
    assert len(seen["alone"]) == 300
    assert seen["together"] == seen["alone"]
    assert seen["prompt_tokens_computed_by_decode"] == 0
    assert seen["pages_in_use"] == 0
    assert len({tuple(reply) for reply in seen["alone"]}) > 290  # they tell prompts apart


def test_prefix_reuse_changes_no_token() -> None:
    seen = experiment("rounds", 8)
    assert seen["with"] == seen["without"]
    assert seen["hits"] > 300  # it did reuse something


def test_a_damaged_page_changes_the_reply() -> None:
    seen = experiment("damages", 1000)
    assert seen["of"] == 1000
    assert sum(seen["survived"].values()) <= 1, seen["survived"]


def test_pytest_itself_imports_no_torch() -> None:
    assert "torch" not in sys.modules
