"""The two ends of a flow: the socket it is read from, and the socket it is written to.

Sockets are driven by the loop's readiness callbacks, not by transports: nothing is buffered
that we do not see, and an undisturbed chunk goes from recv to send without a copy or a task.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections import deque
from collections.abc import Callable

from stack.toxiproxy.stage import Feeder, Receiver

DIRECT_BYTES = 1 << 18  # one read when nothing stands between the two sockets
_shared = memoryview(bytearray(DIRECT_BYTES))  # used up before the callback returns
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER on, 0 s


class Peer:
    """One connected socket. Closing it is noticed by whoever reads from it here."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.loop = loop
        self.sock = sock
        self.descriptor = sock.fileno()
        self.closed = False
        self.on_closed: list[Callable[[], None]] = []

    def reset_on_close(self) -> None:
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)

    def close(self) -> None:
        """Both directions at once: a half-close is not forwarded, as with the real one."""
        if self.closed:
            return
        self.closed = True
        self.loop.remove_reader(self.descriptor)
        self.loop.remove_writer(self.descriptor)
        self.sock.close()
        for notice in self.on_closed:
            notice()


class Source:
    """Reads a peer while there is room behind."""

    def __init__(self, peer: Peer, on_end: Callable[[int], None]) -> None:
        self.next: Receiver
        self._peer = peer
        self._on_end = on_end
        self._received_bytes = 0
        self._watching = False
        self._ended = False
        peer.on_closed.append(self._closed_here)

    def interrupt(self) -> bool:
        """It holds nothing, so there is nothing to stop; False once the sender has closed."""
        return not self._ended

    def run(self) -> None:
        self.resume()

    def resume(self) -> None:
        if self._ended or self._watching or not self.next.has_room:
            return
        if self._peer.closed:
            self._end()
            return
        self._watching = True
        self._peer.loop.add_reader(self._peer.descriptor, self._readable)

    def _readable(self) -> None:
        try:
            count = self._peer.sock.recv_into(_shared, self.next.read_bytes_max)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # reset by the peer: the flow ends as it does with an orderly close
            count = 0
        if count == 0:
            self._pause()
            self._end()
            return
        self._received_bytes += count
        self.next.put(_shared[:count], time.monotonic())
        if self._watching and not self.next.has_room:
            self._pause()

    def _pause(self) -> None:
        if self._watching:
            self._watching = False
            self._peer.loop.remove_reader(self._peer.descriptor)

    def _closed_here(self) -> None:
        # One that waits for room does not know yet: it finds out when it reads on.
        if self._watching:
            self._watching = False
            self._end()

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._on_end(self._received_bytes)
            self.next.put_end()


class Sink:
    """Writes to a peer; full while anything is left unwritten. Its end closes the peer."""

    read_bytes_max = DIRECT_BYTES

    def __init__(self, peer: Peer, on_end: Callable[[int], None]) -> None:
        self.feeder: Feeder
        self._peer = peer
        self._on_end = on_end
        self._sent_bytes = 0
        self._left: deque[memoryview] = deque()
        self._ending = False
        self._dead = False

    @property
    def has_room(self) -> bool:
        return not self._left and not self._dead

    def put(self, data: memoryview | bytes, at_s: float) -> None:
        if self._dead or self._peer.closed:
            self._die()
            return
        view = memoryview(data)
        if not self._left:
            view = view[self._send(view) :]
            if not view or self._dead:
                return
            self._peer.loop.add_writer(self._peer.descriptor, self._writable)
        # What came in the shared buffer is overwritten by the next read.
        self._left.append(memoryview(bytes(view)))

    def put_end(self) -> None:
        self._ending = True
        if not self._left:
            self._finish()

    def _send(self, view: memoryview) -> int:
        try:
            count = self._peer.sock.send(view)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            self._die()
            return 0
        self._sent_bytes += count
        return count

    def _writable(self) -> None:
        head = self._left[0]
        rest = head[self._send(head) :]
        if self._dead:
            return
        if rest:
            self._left[0] = rest
            return
        self._left.popleft()
        if not self._left:
            self._peer.loop.remove_writer(self._peer.descriptor)
            if self._ending:
                self._finish()
            else:
                self.feeder.resume()

    def _finish(self) -> None:
        if not self._dead:
            self._dead = True
            self._on_end(self._sent_bytes)
            self._peer.close()

    def _die(self) -> None:
        """The far side is gone: what is left is lost, and the connection ends."""
        self._left.clear()
        self._dead = True
        self._peer.close()
