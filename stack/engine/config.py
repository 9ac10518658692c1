"""What one worker is told when it starts. JSON both ways."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

ROLES = ("prefill", "decode")
PORT_MAX = 65535


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """Addresses are loopback ports. `routes` detours a peer's port through a link's port:

    {"bootstrap": {prefill's bootstrap port: link port}, "kv": {decode's KV port: link port}}
    """

    name: str  # "prefill-0"
    role: str  # "prefill" | "decode"
    port: int  # HTTP
    host: str = "127.0.0.1"
    bootstrap_port: int | None = None  # a prefill listens here for decodes
    kv_port: int | None = None  # a decode listens here for KV
    admin_port: int | None = None
    admin_token: str = ""
    trace_path: str | None = None
    routes: Mapping[str, Mapping[int, int]] = field(default_factory=dict[str, Mapping[int, int]])
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"role: expected one of {ROLES}, got {self.role!r}")
        needed = "bootstrap_port" if self.role == "prefill" else "kv_port"
        for name in ("port", needed):
            port = getattr(self, name)
            if not isinstance(port, int) or not 0 < port <= PORT_MAX:
                raise ValueError(f"{name}: a {self.role} worker needs a port, got {port!r}")
        if self.admin_port is not None and not self.admin_token:
            raise ValueError("admin_token: an admin port without a token is open to everybody")

    def detour(self, kind: str, port: int) -> int:
        """Where to connect instead of a peer's own port: its link, if it has one."""
        return self.routes.get(kind, {}).get(port, port)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> WorkerConfig:
        """Raises ValueError naming the field that is wrong."""
        try:
            raw: Any = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"worker configuration is not JSON: {error}") from error
        if not isinstance(raw, dict):
            raise ValueError(f"worker configuration: expected an object, got {raw!r}")  # noqa: TRY004 - what a user wrote
        fields = cast("dict[str, Any]", raw)
        unknown = fields.keys() - set(WorkerConfig.__slots__)
        missing = {"name", "role", "port"} - fields.keys()
        if unknown or missing:
            raise ValueError(
                f"worker configuration: unknown {sorted(unknown)}, missing {sorted(missing)}"
            )
        routes = cast("dict[str, dict[str, int]]", fields.get("routes") or {})
        fields["routes"] = {
            kind: {int(port): link for port, link in table.items()}
            for kind, table in routes.items()
        }
        environment = cast("dict[str, Any]", fields.get("environment") or {})
        fields["environment"] = {key: str(value) for key, value in environment.items()}
        return WorkerConfig(**fields)
