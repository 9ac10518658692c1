"""smg, the maintained router: it fails fast when one leg fails, and logs a broken stream."""

from __future__ import annotations

from collections.abc import Sequence

from chaos.event import Mark
from stack.plan import Plan
from stack.routers import router_log
from stack.routers.arguments import shared
from stack.routers.backends import Backends, Marks


class Smg:
    """`python -m smg launch`: the script `smg` belongs to whichever router came last."""

    name = "smg"
    idle = ("smg_worker_requests_active", "smg_http_connections_active")

    def command(self, plan: Plan, backends: Backends) -> Sequence[str]:
        sticky = ["--sticky-sessions"] if plan.guards["sticky_sessions"].on else []
        policy = ["--policy", "round_robin", *sticky]
        return ["-m", "smg", "launch", *shared(plan, backends), *policy, "--log-json"]

    def log_reader(self, backends: Backends) -> Marks:
        nodes = backends.nodes

        def marks(line: str) -> Sequence[Mark]:
            found = router_log.mark(line) or router_log.breaker_mark(line, nodes)
            return [found] if found else []

        return marks
