"""A worker's admin endpoint: its pids, its effective knobs, its failpoints. Every call bounded."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from chaos.event import Json
from chaos.failpoint import Failpoint

CALL_MAX_S: Final = 2.0  # the endpoint promises an answer within 1 s, also when frozen


class AdminSilent(Exception):
    """The admin endpoint did not answer in its bound, or refused."""


@dataclass(frozen=True, slots=True)
class WorkerAdmin:
    node: str
    port: int
    token: str = field(repr=False)

    def pids(self) -> dict[str, int]:
        """{"front": pid, "engine": pid}"""
        return {str(part): int(pid) for part, pid in self._call("GET", "/pids").items()}

    def knobs(self) -> dict[str, Json]:
        """Every knob as the engine really runs with it: environment name to value."""
        return dict(self._call("GET", "/knobs"))

    def guards(self) -> dict[str, dict[str, Json]]:
        """Each guard with the variables that the engine read it from, and their values."""
        return {str(guard): dict(read) for guard, read in self._call("GET", "/guards").items()}

    def sites(self) -> tuple[str, ...]:
        return tuple(str(site) for site in self._call("GET", "/failpoints")["sites"])

    def arm(self, failpoint: Failpoint) -> str:
        """The armed failpoint's id, which tells where in the worker it lives."""
        body = {
            "site": failpoint.site,
            "action": failpoint.action,
            "request_id": failpoint.request_id,
            "delay_s": failpoint.delay_s,
            "after_bytes": failpoint.after_bytes,
            "times": failpoint.times,
        }
        return str(self._call("POST", "/failpoints", body)["id"])

    def state(self, identity: str) -> dict[str, Json]:
        """{"hits": n, "held": n}"""
        return dict(self._call("GET", f"/failpoints/{identity}"))

    def disarm(self, identity: str) -> dict[str, Json]:
        """Take it off and release whoever is held; {"hits": n}."""
        return dict(self._call("DELETE", f"/failpoints/{identity}"))

    def _call(
        self, method: str, path: str, body: Mapping[str, Json] | None = None
    ) -> Mapping[str, Any]:
        caller = http.client.HTTPConnection("127.0.0.1", self.port, timeout=CALL_MAX_S)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            text = None if body is None else json.dumps(body)
            caller.request(method, path, text, {**headers, "Connection": "close"})
            answer = caller.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise AdminSilent(f"{self.node}: no answer to {method} {path}: {error!r}") from error
        finally:
            caller.close()
        if answer.status >= HTTPStatus.BAD_REQUEST:
            reason = content.decode("utf-8", "replace")[:300]
            raise AdminSilent(f"{self.node}: {method} {path}: {answer.status} {reason}")
        found: Mapping[str, Any] = json.loads(content or b"{}")
        return found
