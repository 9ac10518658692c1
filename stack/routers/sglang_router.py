"""sglang-router, the older one: it waits for the other leg for ever when one has failed."""

from __future__ import annotations

from collections.abc import Sequence

from chaos.event import Mark
from stack.plan import Plan
from stack.routers import router_log
from stack.routers.arguments import shared
from stack.routers.backends import Backends, Marks
from stack.routers.breaker import TRANSITION, TransitionPage


class SglangRouter:
    """Logs neither a client that left nor a stream that broke: only error replies are marks.

    It keeps its idle connections to workers, as many as there were at once, where smg closes them
    after three seconds.
    """

    name = "sglang-router"
    # Not its smg_http_connections_active: that goes up by one for good with each client that leaves
    # before its reply began, though nothing is held. As an exact zero it would hide all else.
    idle = ("smg_worker_requests_active",)

    def command(self, plan: Plan, backends: Backends) -> Sequence[str]:
        # Its only policy that looks at the routing key.
        policy = "manual" if plan.guards["sticky_sessions"].on else "round_robin"
        words = shared(plan, backends)
        return ["-m", "sglang_router.launch_router", *words, "--policy", policy]

    def log_reader(self, backends: Backends) -> Marks:
        page = TransitionPage(backends.metrics_url, backends.nodes)

        def marks(line: str) -> Sequence[Mark]:
            if TRANSITION in line:
                return page.opened()
            found = router_log.mark(line)
            return [found] if found else []

        return marks
