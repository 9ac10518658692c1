"""Stopping a process by signal in a test, and knowing that it stands still."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager

from stack.process_table import identify
from tests.stack.until import until


@contextmanager
def stopped(pid: int) -> Generator[None]:
    """SIGSTOP and SIGCONT. Inside, the kernel has shown every thread stopped: a signal that was
    sent is not yet one that has worked."""
    process = identify(pid)
    assert process is not None, f"pid {pid} is gone"
    process.signal(signal.SIGSTOP)
    until(f"pid {pid} stands still", lambda: process.state == "T")
    try:
        yield
    finally:
        process.signal(signal.SIGCONT)  # one that was killed meanwhile is left alone
        until(f"pid {pid} runs", lambda: "T" not in process.thread_states)
