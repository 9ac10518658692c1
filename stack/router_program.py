"""The router as a program: its command line, and when it knows all of its workers."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from chaos.contracts import Unreadable
from chaos.event import Mark
from stack.child_environment import child_environment
from stack.guardian import Guardian, Launch
from stack.page import fetch
from stack.plan import Plan
from stack.process_table import ProcessId
from stack.routers.backends import Backends, Marks, Router
from stack.routers.breaker import Pauses

_READY_MAX_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class RouterProgram:
    """Implements stack.node_process.Program."""

    guardian: Guardian = field(repr=False)
    router: Router
    plan: Plan
    backends: Backends
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    pauses: Pauses = field(default_factory=lambda: Pauses(0.0), repr=False, compare=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.backends.port}"

    @property
    def metrics_url(self) -> str:
        return self.backends.metrics_url

    @property
    def ports(self) -> Sequence[int]:
        return (self.backends.port, self.backends.metrics_port)

    def log_reader(self) -> Marks:
        """The marks of its log; whom it condemns in them is remembered: see `ready`."""
        read = self.router.log_reader(self.backends)

        def marks(line: str) -> Sequence[Mark]:
            found = read(line)
            self.pauses.hear(found)
            return found

        return marks

    def start(self, log: Path) -> ProcessId:
        self.pauses.forget()
        command = self.router.command(self.plan, self.backends)
        return self.guardian.spawn(
            Launch(
                argv=[sys.executable, "-P", *command],
                environment=child_environment({"NO_COLOR": "1", **self.environment}),
                directory=log.parent,
                log=log,
            )
        )

    def exit_code(self, process: ProcessId) -> int | None:
        return self.guardian.exit_code(process)

    def ready(self, process: ProcessId) -> bool:
        """/readiness wants one worker of each role; we want them all, healthy, and none of them in
        the pause of its breaker: until that is over the router gives it nothing, by design."""
        try:
            if fetch(self.url, "/readiness", _READY_MAX_S).status != HTTPStatus.OK:
                return False
            listed: Any = json.loads(fetch(self.url, "/workers", _READY_MAX_S).text)
            healthy = [one for one in listed["workers"] if one["is_healthy"]]
        except (Unreadable, ValueError, KeyError, TypeError):
            return False
        return len(healthy) == self.backends.count and self.pauses.over(time.monotonic_ns())
