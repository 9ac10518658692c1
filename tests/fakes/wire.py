"""One connection through a link, held at both ends by the test, and switchboards to make links."""

from __future__ import annotations

import select
import socket
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from typing import Literal, Self

import pytest

from stack.links import Server, Switchboard
from stack.proxied_link import ProxiedLink
from stack.switch_process import real_command

HEAR_S = 10.0  # the bound on waiting for what must come
SILENCE_S = 0.08  # how long we listen for what must not come
_serial = count(1)


class End:
    """One end of a connection; every wait is bounded."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        sock.settimeout(HEAR_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def say(self, data: bytes) -> None:
        self.sock.sendall(data)

    def hear(self, n_bytes: int) -> bytes:
        """Exactly so many, or fewer when the connection ends."""
        heard = bytearray()
        while len(heard) < n_bytes and (piece := self.sock.recv(n_bytes - len(heard))):
            heard += piece
        return bytes(heard)

    def piece(self) -> bytes:
        return self.sock.recv(1 << 20)

    def hears_nothing(self) -> bool:
        return not select.select([self.sock], [], [], SILENCE_S)[0]

    def ending(self) -> Literal["end", "reset"]:
        """How the connection ended. AssertionError if bytes came instead."""
        try:
            rest = self.sock.recv(1 << 16)
        except (ConnectionResetError, BrokenPipeError):
            return "reset"
        assert rest == b"", f"expected the connection to end, heard {rest[:40]!r}"
        return "end"

    def is_cut_off(self) -> bool:
        """Does what we say break the connection? The first word still goes into the kernel."""
        try:
            for _ in range(100):
                self.say(b"?")
                if not self.hears_nothing():
                    self.ending()
        except OSError:
            return True
        return False

    def close(self) -> None:
        self.sock.close()


class Wire:
    """A client, a server, and the link between them. Who speaks depends on the direction."""

    def __init__(self, board: Switchboard) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(HEAR_S)
        port = int(self._listener.getsockname()[1])
        self.link: ProxiedLink = board.link(f"a-{next(_serial)}->b/kv", "127.0.0.1", port, 0)
        self._ends: list[End] = []

    def connect(self) -> tuple[End, End]:
        """A new connection through the link: the client's end, the server's end."""
        client = self.knock()
        server = End(self._listener.accept()[0])
        self._ends.append(server)
        return client, server

    def knock(self) -> End:
        """A client that connects to the link, whoever may or may not answer behind it."""
        client = End(socket.create_connection(("127.0.0.1", self.link.listen_port), HEAR_S))
        self._ends.append(client)
        return client

    def open(self, stream: str) -> tuple[End, End]:
        """Who speaks and who listens in this direction; the connection has carried a byte."""
        client, server = self.connect()
        speaker, listener = (client, server) if stream == "upstream" else (server, client)
        speaker.say(b"0")
        assert listener.hear(1) == b"0"
        return speaker, listener

    def forget_upstream(self) -> None:
        """Nobody listens behind the link from now on."""
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for end in self._ends:
            end.close()
        self._listener.close()


@contextmanager
def opened(server: Server, config: pytest.Config) -> Generator[Switchboard]:
    """A switchboard on this kind of server; without the real one the test is skipped, unless
    `--require toxiproxy` (or PDCHAOS_REQUIRE) says that it must be there.
    """
    if server == "real" and real_command("127.0.0.1", 0) is None:
        required = str(config.getoption("--require", default=""))
        if "toxiproxy" in required.split(","):
            pytest.fail("--require toxiproxy: toxiproxy-server is not on PATH", pytrace=False)
        pytest.skip("toxiproxy-server is not on PATH")
    with Switchboard(server=server) as board:
        yield board
