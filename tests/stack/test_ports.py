"""Port leases: never two holders, never a port somebody listens on, gone with their process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from stack.guardian import ROOT
from stack.ports import NoPorts, Ports, is_listening

FIRST, LAST = 20_900, 20_939  # of our own, so that no running stack disturbs the counts


def leased_by_a_child(count: int) -> subprocess.Popen[str]:
    """A process that leases so many ports, prints them, and waits to be killed."""
    program = (
        "import sys; from stack.ports import Ports\n"
        f"ports = Ports({FIRST}, {LAST})\n"
        f"print(*[ports.lease() for _ in range({count})], flush=True)\n"
        "sys.stdin.read()"
    )
    return subprocess.Popen(
        [sys.executable, "-P", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
    )


def test_two_holders_never_get_the_same_port() -> None:
    one, other = Ports(FIRST, LAST), Ports(FIRST, LAST)
    try:
        mine = {one.lease() for _ in range(15)}
        theirs = {other.lease() for _ in range(15)}
        assert len(mine) == len(theirs) == 15
        assert not mine & theirs
    finally:
        one.release()
        other.release()


def test_a_port_is_held_while_nobody_listens_on_it_and_free_after_its_release() -> None:
    ports, other = Ports(FIRST, FIRST + 1), Ports(FIRST, FIRST + 1)
    try:
        held = {ports.lease(), ports.lease()}
        with pytest.raises(NoPorts, match="leased or in use"):
            other.lease()
        ports.release()
        assert {other.lease(), other.lease()} == held
    finally:
        ports.release()
        other.release()


def test_a_port_with_a_listening_stranger_is_passed_over() -> None:
    ports = Ports(FIRST, FIRST + 1)
    with socket.create_server(("127.0.0.1", FIRST)):
        assert is_listening(FIRST)
        try:
            assert ports.lease() == FIRST + 1
            with pytest.raises(NoPorts):
                ports.lease()
        finally:
            ports.release()


def test_the_leases_of_another_process_are_respected_and_end_with_its_sigkill() -> None:
    everything = LAST - FIRST + 1
    child = leased_by_a_child(everything)
    ports = Ports(FIRST, LAST)
    try:
        assert child.stdout is not None
        theirs = {int(port) for port in child.stdout.readline().split()}
        with pytest.raises(NoPorts):
            ports.lease()
        child.kill()
        child.wait(5)
        assert ports.lease() in theirs
    finally:
        child.kill()
        child.communicate(timeout=5)
        ports.release()


def test_every_lease_lies_below_the_ports_of_outgoing_connections() -> None:
    ports = Ports()
    try:
        assert 20_000 <= ports.lease() < 32_768
    finally:
        ports.release()


@pytest.mark.parametrize("text", ["20000", "a-b", "80-90", "30000-40000", "21000-20000"])
def test_a_bad_range_in_the_environment_is_refused(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("PDCHAOS_PORTS", text)
    with pytest.raises(ValueError, match="expected like 20000-20999"):
        Ports()
