"""Why a real SGLang stack did not start, from what its logs say: the likely cause, in one line."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from stack.node_process import NodeFailed

_CAUSES: Final = (
    ("libibverbs", "mooncake needs Debian's package libibverbs1"),
    ("No module named 'sgl_kernel'", "the CPU shims are not on its path"),
    ("ModuleNotFoundError", "its environment is not whole: `python -m stack install sglang`"),
    ("Address already in use", "another server has one of its ports"),
    ("address already in use", "another server has one of its ports"),
    ("is already in use", "another server has one of its ports"),
    ("No space left on device", "the disk or /dev/shm is full"),
    ("Cannot allocate memory", "not enough memory: two servers take about four gigabytes"),
    ("exited with code -9", "it was killed: by the kernel for its memory, or by somebody"),
    ("router did not become ready", "the router is up, and not every worker is registered with it"),
)


def likely_cause(text: str) -> str | None:
    """The first cause whose sign stands in the text."""
    return next((cause for sign, cause in _CAUSES if sign in text), None)


@contextmanager
def explained() -> Generator[None]:
    """Put the likely cause before whatever NodeFailed says inside."""
    try:
        yield
    except NodeFailed as failure:
        cause = likely_cause(str(failure))
        if cause is None:
            raise
        why = f"{failure}\nlikely cause: {cause}"
        raise NodeFailed(why, failure.exit_code, own_doing=failure.own_doing) from failure
