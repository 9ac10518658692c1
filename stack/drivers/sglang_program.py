"""One real SGLang server as a program: its command line, its environment, when it answers."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Final

from chaos.contracts import Unreadable
from stack.child_environment import child_environment
from stack.drivers.sglang_shared_memory import SharedMemory
from stack.guardian import Guardian, Launch
from stack.page import fetch
from stack.ports import is_listening
from stack.process_table import PROC, ProcessId, tree

SHIMS: Final = Path(__file__).parent / "sglang_cpu"
NAMES: Final = Path(__file__).parent / "sglang_names"
SERVED_NAME: Final = "tiny"
_READY_MAX_S: Final = 2.0
_HOST: Final = "127.0.0.1"

# Sizes for a model of a megabyte: 64 leaked bodies at once, contexts of a few rounds.
_SIZES: Final = (
    *("--max-total-tokens", "16384", "--max-running-requests", "64"),
    *("--context-length", "4096", "--num-reserved-decode-tokens", "64", "--dtype", "float32"),
)
# What SGLang takes where there is no accelerator. Overlap needs a device's streams.
_ON_CPU: Final = (
    *("--device", "cpu", "--attention-backend", "torch_native", "--sampling-backend", "pytorch"),
    *("--disable-cuda-graph", "--disable-overlap-schedule"),
)
_TELLING: Final = (
    *("--log-requests", "--log-requests-level", "0", "--log-requests-format", "json"),
    *("--enable-metrics", "--log-level-http", "warning"),
)


@dataclass(frozen=True, slots=True)
class SglangProgram:
    """Implements stack.node_process.Program."""

    guardian: Guardian = field(repr=False)
    shared_memory: SharedMemory = field(repr=False)
    name: str
    python: Path
    model: Path
    port: int
    rendezvous_port: int  # of torch.distributed, which takes any near it when it is not told
    bootstrap_port: int | None  # of a prefill
    directory: Path  # its working directory, and where its temporary files go
    environment: Mapping[str, str]
    on_cpu: bool = True
    semaphores: str = "/mp"  # how the names of its semaphores begin

    @property
    def role(self) -> str:
        return self.name.partition("-")[0]

    @property
    def url(self) -> str:
        return f"http://{_HOST}:{self.port}"

    @property
    def ports(self) -> Sequence[int]:
        wanted = (self.port, self.rendezvous_port, self.bootstrap_port)
        return [port for port in wanted if port is not None]

    def with_environment(self, extra: Mapping[str, str]) -> SglangProgram:
        """The same server with other knobs."""
        return dataclasses.replace(self, environment={**self.environment, **extra})

    def start(self, log: Path) -> ProcessId:
        self.shared_memory.remove(self.name)  # of the server that died before it
        self.directory.mkdir(exist_ok=True)
        return self.guardian.spawn(
            Launch(
                argv=[str(self.python), "-P", "-m", "sglang.launch_server", *self.arguments()],
                environment=child_environment(self.variables()),
                directory=self.directory,
                log=log,
            )
        )

    def exit_code(self, process: ProcessId) -> int | None:
        return self.guardian.exit_code(process)

    def ready(self, process: ProcessId) -> bool:
        """Whether its HTTP answers. That KV moves is asked of the whole stack."""
        self.shared_memory.look(self.name, tree(process.pid))
        if not is_listening(self.port):
            return False
        try:
            return fetch(self.url, "/model_info", _READY_MAX_S).status == HTTPStatus.OK
        except Unreadable:
            return False

    def arguments(self) -> list[str]:
        words = ["--model-path", str(self.model), "--served-model-name", SERVED_NAME]
        words += ["--host", _HOST, "--port", str(self.port), "--random-seed", "0"]
        words += ["--nccl-port", str(self.rendezvous_port), "--disaggregation-mode", self.role]
        words += ["--disaggregation-transfer-backend", "mooncake_tcp", "--sleep-on-idle"]
        if self.bootstrap_port is not None:
            words += ["--disaggregation-bootstrap-port", str(self.bootstrap_port)]
        if self.on_cpu:
            words += _ON_CPU
            if self.role == "decode":  # pinned host memory is a device's
                words += ["--disaggregation-decode-retraction-backup", "cpu_tensor"]
        return [*words, *_SIZES, *_TELLING]

    def variables(self) -> dict[str, str]:
        loopback = {"SGLANG_HOST_IP": _HOST, "HOST_IP": _HOST}  # else it takes the first card
        # A dying server would otherwise wait a minute for core dumps that no CPU has.
        dumps = {"SGLANG_CUDA_COREDUMP_BEFORE_CRASH": "0", "SGLANG_PYSPY_DUMP_BEFORE_CRASH": "0"}
        shims = {"SGLANG_USE_CPU_ENGINE": "1"} if self.on_cpu else {}
        paths = [NAMES, SHIMS] if self.on_cpu else [NAMES]
        return {
            **loopback,
            **dumps,
            **shims,
            "PYTHONPATH": os.pathsep.join(os.fspath(one) for one in paths),
            "PDCHAOS_SEMAPHORES": self.semaphores,
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
            "OMP_NUM_THREADS": "1",
            "TMPDIR": os.fspath(self.directory),
            **self.environment,
        }


class SglangAnatomy:
    """A server is an HTTP front with two children that rename themselves."""

    def named(self, alive: Sequence[ProcessId]) -> Mapping[str, ProcessId]:
        found: dict[str, ProcessId] = {}
        for index, one in enumerate(alive):
            part = "front" if index == 0 else _part(one)
            found[part if part not in found else f"{part}-{index}"] = one
        return found

    def engine(self, alive: Sequence[ProcessId]) -> Sequence[ProcessId]:
        return [one for one in alive[1:] if _part(one) == "engine"]


def _part(process: ProcessId) -> str:
    try:
        title = (PROC / str(process.pid) / "cmdline").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return "child"
    if title.startswith("sglang::scheduler"):
        return "engine"
    return "detokenizer" if title.startswith("sglang::detokenizer") else "child"
