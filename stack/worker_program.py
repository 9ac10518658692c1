"""One embedded worker as a program: forked from the zygote, or spawned where it needs a GPU."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Final

from chaos.contracts import Unreadable
from stack.child_environment import child_environment
from stack.engine.config import WorkerConfig
from stack.gpu_lease import leased_gpu
from stack.ground import Ground
from stack.guardian import ROOT, Launch
from stack.page import fetch
from stack.process_table import ProcessId, identify
from stack.worker_admin import AdminSilent, WorkerAdmin

_READY_MAX_S: Final = 1.0
_SPAWNED_KERNELS: Final = "triton"  # CUDA does not survive a fork


@dataclass(frozen=True, slots=True)
class WorkerProgram:
    """Implements stack.node_process.Program."""

    ground: Ground = field(repr=False)
    config: WorkerConfig

    @property
    def url(self) -> str:
        return f"http://{self.config.host}:{self.config.port}"

    @property
    def admin(self) -> WorkerAdmin:
        assert self.config.admin_port is not None
        return WorkerAdmin(self.config.name, self.config.admin_port, self.config.admin_token)

    @property
    def ports(self) -> Sequence[int]:
        config = self.config
        wanted = (config.port, config.bootstrap_port, config.kv_port, config.admin_port)
        return [port for port in wanted if port is not None]

    def with_environment(self, extra: Mapping[str, str]) -> WorkerProgram:
        """The same worker with other knobs."""
        merged = {**self.config.environment, **extra}
        return WorkerProgram(self.ground, dataclasses.replace(self.config, environment=merged))

    def start(self, log: Path) -> ProcessId:
        if self._spawned:
            return self._spawn(log)
        return self.ground.nursery.fork(json.loads(self.config.to_json()), log)

    def exit_code(self, process: ProcessId) -> int | None:
        parent = self.ground.guardian if self._spawned else self.ground.nursery
        return parent.exit_code(process)

    def ready(self, process: ProcessId) -> bool:
        """The pids are asked for as well: on a port clash another server would answer, and a
        front that has lost its engine is about to follow it.
        """
        try:
            if fetch(self.url, "/health", _READY_MAX_S).status != HTTPStatus.OK:
                return False
            pids = self.admin.pids()
            engine = identify(pids["engine"])
            return pids["front"] == process.pid and engine is not None and engine.alive
        except (Unreadable, AdminSilent):
            return False

    @property
    def _spawned(self) -> bool:
        return self.config.environment.get("PDCHAOS_KERNELS") == _SPAWNED_KERNELS

    def _spawn(self, log: Path) -> ProcessId:
        path = log.with_suffix(".json")
        path.write_text(self.config.to_json())
        path.chmod(0o600)  # it has the admin token
        return self.ground.guardian.spawn(
            Launch(
                argv=[sys.executable, "-P", "-m", "stack.engine", "--config", os.fspath(path)],
                environment=child_environment(
                    {"PYTHONPATH": os.fspath(ROOT), **leased_gpu(os.environ)}
                ),
                directory=log.parent,
                log=log,
            )
        )
