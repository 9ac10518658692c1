"""Addresses as Go writes them: "host:port", "[::1]:port", ":port"."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from ipaddress import ip_address

CONNECT_S = 120.0  # as long as the kernel itself would try
BACKLOG = 4096  # the most that the kernel takes by default
PORT_MAX = 65535


class BadAddress(Exception):
    """Not an address, or not one that can be listened on. The API answers 500, as the real one."""


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        host, colon, port = text.rpartition(":")
        if not colon:
            raise BadAddress(f"address {text}: missing port in address")
        if not port.isdigit() or int(port) > PORT_MAX:
            raise BadAddress(f"address {text}: invalid port")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))

    def resolve(self) -> Address:
        """With the host as a number."""
        if not self.host or _is_number(self.host):
            return self
        return self._looked_up()[0]

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def listen(self) -> socket.socket:
        """Listening, non-blocking, on the first address of the host; "" is every interface."""
        host = self.resolve().host or "0.0.0.0"  # noqa: S104 - ":port" asks for it
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        server = socket.socket(family, socket.SOCK_STREAM)
        try:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind((host, self.port))
            server.listen(BACKLOG)
        except OSError as error:
            server.close()
            raise BadAddress(
                f"listen tcp {self}: bind: {(error.strerror or '').lower()}"
            ) from error
        server.setblocking(False)
        return server

    async def connect(self) -> socket.socket:
        """A connected, non-blocking socket. Raises OSError, within CONNECT_S."""
        loop = asyncio.get_running_loop()
        one = self if _is_number(self.host) else await loop.run_in_executor(None, self.resolve)
        sock = socket.socket(socket.AF_INET6 if ":" in one.host else socket.AF_INET)
        sock.setblocking(False)
        try:
            async with asyncio.timeout(CONNECT_S):
                await loop.sock_connect(sock, (one.host, one.port))
        except BaseException:
            sock.close()
            raise
        return sock

    def _looked_up(self) -> list[Address]:
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise BadAddress(f"lookup {self.host}: {error.strerror}") from error
        addresses = [Address(str(where[0]), self.port) for *_, where in found]
        # As Go does: IPv4 first, so that "localhost" is 127.0.0.1.
        return sorted(addresses, key=lambda one: ":" in one.host)


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
