"""The kernel's own account of TCP sockets: who is connected, how many bytes went each way.

Read over netlink (sock_diag(7)), so that a link can be watched without standing in its way.
Needs Linux; works without privileges for the sockets of one network namespace.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ANSWER_S = 2.0  # a dump of some 2,000 sockets takes about 20 ms
_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST_DUMP = 0x301
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_INET_DIAG_INFO = 2
_LISTEN = 10
_ALL_STATES = 0xFFF
_ESTABLISHED = 1
# States reached by the peer's FIN, which the kernel counts as one more byte received.
_AFTER_FIN = frozenset({6, 7, 8, 9, 11})
# Offsets of linux/inet_diag.h inet_diag_msg and of linux/tcp.h tcp_info.
_MESSAGE_BYTES, _INODE_AT, _UNREAD_AT = 72, 68, 56
_BYTES_RECEIVED_AT, _BYTES_SENT_AT = 128, 200
_TCP_INFO_BYTES_MIN = 216  # bytes_sent and bytes_retrans: Linux 4.19


class CountersUnavailable(Exception):
    """This machine does not tell: no Linux, an old kernel, or netlink is forbidden."""


@dataclass(frozen=True, slots=True)
class TcpSocket:
    """One end of one connection, seen by the kernel."""

    inode: int  # 0 once no process has it open
    established: bool
    drained: bool  # the peer has closed, and the process has read all that it sent
    local_port: int
    remote_port: int
    bytes_received: int  # from the peer, whether or not the process has read them
    bytes_sent: int  # transmitted once; over loopback they are at the peer


def tcp_sockets() -> list[TcpSocket]:
    """Every TCP connection of this network namespace. Raises CountersUnavailable."""
    found: list[TcpSocket] = []
    for family in (socket.AF_INET, socket.AF_INET6):
        found += [one for body in _dump(family) if (one := _parsed(body)) is not None]
    return found


def inodes_of(pid: int) -> frozenset[int]:
    """The inodes of the sockets that a process has open; empty if we may not look."""
    found: set[int] = set()
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            target = _link_target(entry)
            if target.startswith("socket:["):
                found.add(int(target[8:-1]))
    except OSError:
        return frozenset(found)
    return frozenset(found)


def owner_of(port: int) -> int | None:
    """The process of this machine that listens on the port, where we may know it."""
    listening = {inode for inode, local in _listening() if local == port}
    if not listening:
        return None
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and listening & inodes_of(int(entry.name)):
            return int(entry.name)
    return None


def _listening() -> Iterator[tuple[int, int]]:
    try:
        for family in (socket.AF_INET, socket.AF_INET6):
            for body in _dump(family, states=1 << _LISTEN):
                (port,) = struct.unpack_from("!H", body, 4)
                yield struct.unpack_from("=I", body, _INODE_AT)[0], port
    except CountersUnavailable:
        return


def _link_target(entry: Path) -> str:
    try:
        return str(entry.readlink())
    except OSError:  # closed while we looked
        return ""


def _dump(family: int, states: int = _ALL_STATES & ~(1 << _LISTEN)) -> Iterator[bytes]:
    request = struct.pack(
        "=BBBBI", family, socket.IPPROTO_TCP, 1 << (_INET_DIAG_INFO - 1), 0, states
    ) + bytes(48)  # inet_diag_sockid: any socket
    header = struct.pack(
        "=IHHII", 16 + len(request), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST_DUMP, 1, 0
    )
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG) as netlink:
            netlink.settimeout(ANSWER_S)
            netlink.send(header + request)
            yield from _bodies(netlink)
    except (OSError, AttributeError) as error:
        raise CountersUnavailable(f"sock_diag: {error}") from error


def _bodies(netlink: socket.socket) -> Iterator[bytes]:
    while True:
        data = netlink.recv(1 << 18)
        at = 0
        while at < len(data):
            length, kind = struct.unpack_from("=IH", data, at)
            if kind == _NLMSG_DONE:
                return
            if kind == _NLMSG_ERROR:
                (code,) = struct.unpack_from("=i", data, at + 16)
                raise OSError(-code, os.strerror(-code))
            yield data[at + 16 : at + length]
            at += (length + 3) & ~3


def _parsed(body: bytes) -> TcpSocket | None:
    info = _attribute(body, _INET_DIAG_INFO)
    if len(info) < _TCP_INFO_BYTES_MIN:  # a closing socket (TIME_WAIT) has no account any more
        return None
    state = body[1]
    local, remote = struct.unpack_from("!HH", body, 4)
    (inode,) = struct.unpack_from("=I", body, _INODE_AT)
    (unread,) = struct.unpack_from("=I", body, _UNREAD_AT)
    (received,) = struct.unpack_from("=Q", info, _BYTES_RECEIVED_AT)
    sent, again = struct.unpack_from("=QQ", info, _BYTES_SENT_AT)
    fin = 1 if state in _AFTER_FIN and received else 0
    drained = state in _AFTER_FIN and unread == 0
    return TcpSocket(
        inode, state == _ESTABLISHED, drained, local, remote, received - fin, sent - again
    )


def _attribute(body: bytes, wanted: int) -> bytes:
    at = _MESSAGE_BYTES
    while at + 4 <= len(body):
        length, kind = struct.unpack_from("=HH", body, at)
        if kind == wanted:
            return body[at + 4 : at + length]
        at += (max(length, 4) + 3) & ~3
    return b""
