"""Goal: a start that failed names its likely cause in one line, after the log that shows it."""

from __future__ import annotations

import pytest

from stack.drivers.sglang_failure import explained, likely_cause
from stack.node_process import NodeFailed


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("OSError: libibverbs.so.1: cannot open shared object file", "libibverbs1"),
        ("decode-0 cannot start: port 27001 is already in use", "one of its ports"),
        ("ModuleNotFoundError: No module named 'sgl_kernel'", "shims"),
        ("ModuleNotFoundError: No module named 'orjson'", "python -m stack install sglang"),
        ("decode-0 exited with code -9 at its start", "killed"),
        ("router did not become ready in 300 s", "not every worker is registered"),
    ],
)
def test_the_likely_cause_is_read_from_the_last_words(text: str, cause: str) -> None:
    found = likely_cause(text)
    assert found is not None
    assert cause in found


def test_what_nobody_knows_is_not_explained() -> None:
    assert likely_cause("KV does not move") is None


def test_the_explanation_follows_the_log_and_keeps_the_exit_code() -> None:
    with pytest.raises(NodeFailed) as failure, explained():
        raise NodeFailed("exited; libibverbs.so.1 is missing", 1, own_doing=True)
    assert "likely cause: mooncake needs" in str(failure.value).splitlines()[-1]
    assert (failure.value.exit_code, failure.value.own_doing) == (1, True)
