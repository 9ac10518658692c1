"""One streamed request on a bare socket: nothing reads or closes it but we."""

from __future__ import annotations

import fcntl
import json
import socket
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from random import Random
from typing import Final
from urllib.parse import urlsplit

from chaos.contracts import Evidence
from chaos.event import Json
from chaos.workloads.prompt import prompt

RECEIVE_BUFFER_BYTES: Final = 4096  # small, so that an unread body backs up at its sender soon
HEAD_BYTES_MAX: Final = 65_536
HEAD_END: Final = b"\r\n\r\n"
STATUS_FIRST_ERROR: Final = 300
PROMPT_BYTES: Final = 96


class TcpState(IntEnum):
    """First byte of struct tcp_info; the numbers are Linux's, include/net/tcp_states.h."""

    ESTABLISHED = 1
    SYN_SENT = 2
    SYN_RECV = 3
    FIN_WAIT1 = 4
    FIN_WAIT2 = 5
    TIME_WAIT = 6
    CLOSE = 7
    CLOSE_WAIT = 8
    LAST_ACK = 9
    LISTEN = 10
    CLOSING = 11


OPEN: Final = frozenset({TcpState.ESTABLISHED, TcpState.CLOSE_WAIT})
OUR_FIN_ARRIVED: Final = frozenset({TcpState.FIN_WAIT2, TcpState.TIME_WAIT, TcpState.CLOSE})


@dataclass(frozen=True, slots=True)
class Ask:
    """What to ask: `path` of the server at `url`, with a JSON body and a request id."""

    url: str
    path: str
    body: Mapping[str, Json]
    request_id: str

    def bytes(self) -> bytes:
        content = json.dumps(self.body).encode()
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: {urlsplit(self.url).netloc}\r\n"
            f"Content-Type: application/json\r\nX-Request-ID: {self.request_id}\r\n"
            f"Accept-Encoding: identity\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content


def streamed_body(rng: Random, tokens: int, model: str) -> dict[str, Json]:
    """The body of a streamed request with a prompt that nobody else sends."""
    return {
        "model": model,
        "prompt": prompt(rng, PROMPT_BYTES),
        "max_tokens": tokens,
        "temperature": 0.0,
        "stream": True,
    }


def mute_listener() -> socket.socket:
    """Takes connections and never says a word: a prefill that a decode worker waits for."""
    return socket.create_server(("127.0.0.1", 0))


class RawStream:
    """Sent when constructed. OSError: it could not connect or send within `within_s`."""

    def __init__(self, ask: Ask, within_s: float) -> None:
        address = urlsplit(ask.url)
        self._socket = socket.socket()
        self._head = b""
        self._body_bytes = 0
        self._ended = False
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
            self._socket.settimeout(within_s)
            self._socket.connect((address.hostname or "", address.port or 80))
            self._socket.sendall(ask.bytes())
        except OSError:
            self._socket.close()
            raise

    @property
    def status(self) -> int | None:
        """Of the reply; None while its head has not come."""
        line = self._head.split(b"\r\n", 1)[0].split(b" ")
        return int(line[1]) if HEAD_END in self._head else None

    @property
    def body_bytes(self) -> int:
        """Read so far, chunk framing included."""
        return self._body_bytes

    @property
    def ended(self) -> bool:
        """The peer closed or reset, as far as we have read."""
        return self._ended

    def read_to(self, body_bytes: int, within_s: float) -> bool:
        """Read until that many bytes of the body came. False: too late, or it ended before."""
        deadline_s = time.monotonic() + within_s
        while self.status is None or self._body_bytes < body_bytes:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0 or not self._read(body_bytes - self._body_bytes, left_s):
                return False
        return True

    def unread_bytes(self) -> int:
        """What has arrived and lies in our receive queue."""
        return struct.unpack("i", fcntl.ioctl(self._socket, termios.FIONREAD, b"\0" * 4))[0]

    def state(self) -> TcpState:
        return TcpState(self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0])

    def half_close(self) -> bool:
        """Send our FIN; the other direction stays open. False: the peer had closed already."""
        if self.state() is not TcpState.ESTABLISHED:
            return False
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:  # it closed in between
            return False
        return True

    def half_closed(self) -> bool:
        """Our FIN has arrived, and the peer's kernel has said so."""
        return self.state() in OUR_FIN_ARRIVED

    def leaks(self) -> bool:
        """A reply is on its way or has come, and lies there."""
        accepted = self.status is not None and self.status < STATUS_FIRST_ERROR
        return accepted and (self.unread_bytes() > 0 or self.state() in OPEN)

    def close(self) -> None:
        self._socket.close()

    def _read(self, bytes_max: int, within_s: float) -> bool:
        """One read: the head byte by byte, so that not one byte of the body is taken too many."""
        self._socket.settimeout(within_s)
        try:
            data = self._socket.recv(1 if self.status is None else bytes_max)
        except TimeoutError:
            return False
        except ConnectionError:
            data = b""
        if not data or len(self._head) > HEAD_BYTES_MAX:
            self._ended = True
            return False
        if self.status is None:
            self._head += data
        else:
            self._body_bytes += len(data)
        return True


@dataclass(frozen=True, slots=True)
class Leaked:
    streams: Sequence[RawStream]

    def read(self) -> Evidence:
        """It bites while a body is open that nobody reads: its connection, or bytes for it."""
        leaked = [stream for stream in self.streams if stream.leaks()]
        statuses = sorted({str(stream.status) for stream in self.streams})
        detail: dict[str, Json] = {
            "asked": len(self.streams),
            "open_bodies": len(leaked),
            "unread_bytes": sum(stream.unread_bytes() for stream in leaked),
            "statuses": " ".join(statuses),
        }
        return Evidence(bool(leaked), detail)


@dataclass(frozen=True, slots=True)
class HalfClosed:
    stream: RawStream
    sent: bool  # our FIN, while the connection was open

    def read(self) -> Evidence:
        """It bites when the peer's kernel has acknowledged our FIN."""
        detail: dict[str, Json] = {
            "fin_sent": self.sent,
            "socket": self.stream.state().name,
            "status": self.stream.status,
            "unread_bytes": self.stream.unread_bytes(),
        }
        return Evidence(self.sent and self.stream.half_closed(), detail)
