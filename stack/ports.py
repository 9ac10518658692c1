"""Ports for our servers: leased below the ephemeral range, so that no two runs ever collide.

A lease is an abstract unix socket named after the port. The kernel drops it when the process
that holds it dies, in any way, and it lives in the same network namespace as the port does.
(A lock file with flock would do as well, and would be left behind by a SIGKILL.)
"""

from __future__ import annotations

import errno
import os
import socket
from typing import Final

FIRST, LAST = 20_000, 32_000  # below 32768, where outgoing connections take theirs
_RANGE: Final = "PDCHAOS_PORTS"  # "20000-20999": another range for this run


class NoPorts(Exception):
    """Every port of the range is leased or in use."""


class Ports:
    """The ports that one stack holds, also while nobody listens on them."""

    def __init__(self, first: int | None = None, last: int | None = None) -> None:
        low, high = _configured()
        self._first, self._last = first or low, last or high
        self._leases: dict[int, socket.socket] = {}

    def lease(self) -> int:
        """A port of 127.0.0.1 that is ours until `release`. Raises NoPorts."""
        count = self._last - self._first + 1
        # Where to begin looking: parallel runs would otherwise all knock at the same doors.
        start = (os.getpid() * 97 + len(self._leases)) % count
        for step in range(count):
            port = self._first + (start + step) % count
            lease = None if port in self._leases else _claim(port)
            if lease is None:
                continue
            if is_listening(port) or not _can_bind(port):
                lease.close()  # a stranger's server, which knows nothing of our leases
                continue
            self._leases[port] = lease
            return port
        raise NoPorts(f"no free port in {self._first}-{self._last}: leased or in use, all of them")

    def release(self) -> None:
        """Give all ports back."""
        while self._leases:
            self._leases.popitem()[1].close()


def is_listening(port: int, host: str = "127.0.0.1") -> bool:
    """Whether somebody accepts connections there (or lets them wait in the queue)."""
    with socket.socket() as caller:
        caller.settimeout(0.2)
        return caller.connect_ex((host, port)) in {0, errno.EAGAIN, errno.ETIMEDOUT}


def _can_bind(port: int) -> bool:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _claim(port: int) -> socket.socket | None:
    lease = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        lease.bind(f"\0pdchaos-port-{port}")
    except OSError:
        lease.close()
        return None
    return lease


def _configured() -> tuple[int, int]:
    text = os.environ.get(_RANGE)
    if text is None:
        return FIRST, LAST
    low, dash, high = text.partition("-")
    if not (dash and low.isdigit() and high.isdigit() and 1024 <= int(low) < int(high) < 32768):  # noqa: PLR2004 - the ranges of the kernel
        raise ValueError(f"{_RANGE}: expected like 20000-20999, within 1024-32767: {text!r}")
    return int(low), int(high)
