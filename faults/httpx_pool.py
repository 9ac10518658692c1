"""A real httpx client whose own connection pool is eaten by bodies that nobody drains.

The wrong theory of many a hang: it looks like a stalled server to the one client that has it,
and to nobody else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import httpx

from chaos.contracts import Evidence, Reading
from chaos.event import Json

POOL_WAIT_S: Final = 0.25  # how long its next request waits for a connection
SERVER_WAIT_S: Final = 2.0


class HttpxPool:
    """`size` connections at most. Also a probe: how many of them were not given back."""

    name: Final = "client/httpx_pool"

    def __init__(self, url: str, size: int) -> None:
        self._url = url
        self._bodies: list[httpx.Response] = []
        self._client = httpx.Client(
            base_url=url,
            limits=httpx.Limits(max_connections=size),
            timeout=httpx.Timeout(SERVER_WAIT_S, pool=POOL_WAIT_S),
            trust_env=False,
        )

    def leave_body(self, path: str, body: Mapping[str, Json], request_id: str) -> int:
        """Ask for a stream and never read it; its status. httpx.HTTPError: it got none."""
        request = self._client.build_request(
            "POST", path, json=dict(body), headers={"X-Request-ID": request_id}
        )
        response = self._client.send(request, stream=True)
        self._bodies.append(response)
        return response.status_code

    def exhausted(self) -> bool:
        """Whether its next request finds no connection, and says so."""
        try:
            self._client.get("/health")
        except httpx.PoolTimeout:
            return True
        except httpx.HTTPError:
            return False  # it got a connection; what the server did with it is another matter
        return False

    def others_go_on(self) -> bool:
        """Whether another client is answered by the same server at the same time."""
        with httpx.Client(base_url=self._url, timeout=SERVER_WAIT_S, trust_env=False) as other:
            try:
                return other.get("/health").is_success
            except httpx.HTTPError:
                return False

    def read(self) -> Sequence[Reading]:
        return [Reading(self.name, sum(not body.is_closed for body in self._bodies))]

    def close(self) -> None:
        """Give every connection back. Idempotent."""
        with ExitStack() as closing:
            closing.callback(self._client.close)
            for body in self._bodies:
                closing.callback(body.close)


@dataclass(frozen=True, slots=True)
class Eaten:
    pool: HttpxPool

    def read(self) -> Evidence:
        exhausted, others_go_on = self.pool.exhausted(), self.pool.others_go_on()
        detail: dict[str, Json] = {
            "pool_timeout": exhausted,
            "others_go_on": others_go_on,
            **{reading.name: reading.value for reading in self.pool.read()},
        }
        return Evidence(exhausted, detail)
