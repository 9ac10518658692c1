"""One prefill and one decode, asked directly: this plays the router."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx

from chaos.event import Kind, Mark
from stack.engine.config import WorkerConfig
from stack.ports import Ports
from stack.trace_sink import TraceSink

T = TypeVar("T")
ROOT = Path(__file__).parents[3]
BOUND_S = 20.0  # of every wait here; a loaded machine must not fail a test
QUICK = {
    "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": "0.6",
    "SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "1.6",
    "SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL": "0.3",
    "PDCHAOS_PREFILL_INFLIGHT_TIMEOUT": "2.4",
    "PDCHAOS_STEP_TIMEOUT": "3.0",
    "PDCHAOS_STREAM_IDLE_TIMEOUT": "0.6",
    "PDCHAOS_ABORT_DRAIN_TIMEOUT": "1.5",
    "PDCHAOS_KV_PAGES": "256",
}


def until(ask: Callable[[], T], what: str, bound_s: float = BOUND_S) -> T:
    """The first truthy answer; fails when none comes in time."""
    end_s = time.monotonic() + bound_s
    while time.monotonic() < end_s:
        answer = ask()
        if answer:
            return answer
        time.sleep(0.01)
    raise AssertionError(f"not within {bound_s} s: {what}")


class Launcher:
    """The process that has imported torch, so that each worker starts at once."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.stack.engine.launcher_process"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, config: WorkerConfig) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(config.to_json() + "\n")
        self._process.stdin.flush()
        return int(json.loads(self._process.stdout.readline())["pid"])

    def close(self) -> None:
        """Its workers die with it."""
        self._process.kill()
        self._process.communicate(timeout=BOUND_S)


@dataclass
class Worker:
    config: WorkerConfig
    pid: int
    http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=BOUND_S))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.config.port}"

    def get(self, path: str) -> httpx.Response:
        return self.http.get(self.url + path)

    def figure(self, name: str) -> float:
        """One sample of the metrics page, by the name and label that its line begins with."""
        return self.figures(name)[0]

    def figures(self, *names: str) -> list[float]:
        """Samples of one and the same page: what they say was true together."""
        lines = self.get("/metrics").text.splitlines()
        found = [[one for one in lines if one.startswith(f"sglang:{name}")] for name in names]
        missing = [name for name, some in zip(names, found, strict=True) if not some]
        assert not missing, f"{missing} are not on the metrics page"
        return [float(some[0].rsplit(" ", 1)[1]) for some in found]

    def acts(self, guard: str) -> float:
        role = self.config.role
        return self.figure(f'guard_acts_total{{engine_type="{role}",guard="{guard}"}}')

    def admin(self, method: str, path: str, body: object = None) -> httpx.Response:
        return self.http.request(
            method,
            f"http://127.0.0.1:{self.config.admin_port}{path}",
            json=body,
            headers={"Authorization": f"Bearer {self.config.admin_token}"},
        )

    @contextlib.contextmanager
    def armed(self, site: str, action: str, **more: object) -> Generator[Callable[[], int]]:
        """Yields a reader of the hit count; released on exit."""
        reply = self.admin("POST", "/failpoints", {"site": site, "action": action, **more})
        assert reply.status_code == 201, reply.text
        path = f"/failpoints/{reply.json()['id']}"
        try:
            yield lambda: int(self.admin("GET", path).json()["hits"])
        finally:
            with contextlib.suppress(httpx.TransportError):  # a killed worker holds nobody
                self.admin("DELETE", path)

    def engine_pid(self) -> int:
        return int(self.admin("GET", "/pids").json()["engine"])

    def gone(self) -> bool:
        return not Path(f"/proc/{self.pid}").exists()

    def alive(self) -> bool:
        try:
            return self.get("/health").status_code == 200
        except httpx.TransportError:
            return False


class Pair:
    """Both workers and everything they said."""

    def __init__(self, launcher: Launcher, folder: Path, environment: Mapping[str, str]) -> None:
        self._launcher = launcher
        self._ports = Ports(21_000, 21_999)
        self._sink = TraceSink(folder / "trace")
        self.marks: list[Mark] = []
        self._watching = self._sink.observe(self.marks.append)
        self._watching.__enter__()
        self._rooms = int(time.monotonic_ns())
        self._threads = ThreadPoolExecutor(16)
        self._trace = str(folder / "trace")
        self._environment = {**QUICK, **environment}
        self.bootstrap_port = self._ports.lease()
        self.prefill = self._started(self._config("prefill-0", "prefill"))
        self.decode = self._started(self._config("decode-0", "decode"))

    def _config(self, name: str, role: str) -> WorkerConfig:
        return WorkerConfig(
            name,
            role,
            self._ports.lease(),
            bootstrap_port=self.bootstrap_port if role == "prefill" else None,
            kv_port=self._ports.lease() if role == "decode" else None,
            admin_port=self._ports.lease(),
            admin_token=name,
            trace_path=self._trace,
            environment=self._environment,
        )

    def _started(self, config: WorkerConfig) -> Worker:
        worker = Worker(config, self._launcher.start(config))
        until(worker.alive, f"{config.name} answers")
        return worker

    def again(self, worker: Worker) -> Worker:
        """The same worker on the same addresses, as a supervisor replaces it."""
        worker.http.close()
        return self._started(worker.config)

    def room(self) -> int:
        self._rooms += 1
        return self._rooms

    def body(self, prompt: str | list[str], tokens: int, **more: object) -> dict[str, Any]:
        return {
            "prompt": prompt,
            "max_tokens": tokens,
            "temperature": 0,
            "bootstrap_host": "127.0.0.1",
            "bootstrap_port": self.bootstrap_port,
            "bootstrap_room": self.room(),
            **more,
        }

    def leg(self, worker: Worker, request_id: str, body: Mapping[str, Any]) -> Future[Answer]:
        return self._threads.submit(_answer, worker.url, request_id, body)

    def ask(
        self, request_id: str, prompt: str | list[str], tokens: int = 8, **more: object
    ) -> tuple[Answer, Answer]:
        """Both legs' answers."""
        body = self.body(prompt, tokens, **more)
        legs = [self.leg(worker, request_id, body) for worker in (self.prefill, self.decode)]
        prefill, decode = (leg.result(BOUND_S) for leg in legs)
        return prefill, decode

    def seen(self, kind: Kind, about: str) -> list[Mark]:
        return [mark for mark in list(self.marks) if mark.kind is kind and mark.about == about]

    def guards(self, request_id: str) -> list[str]:
        return [str(mark.detail["guard"]) for mark in self.seen(Kind.GUARD, request_id)]

    def first_guard(self, request_id: str) -> str:
        """Its mark may come a little after the reply does."""
        return until(lambda: self.guards(request_id), f"a guard acts on {request_id}")[0]

    def guarded(self, request_id: str, guard: str) -> bool:
        return until(lambda: guard in self.guards(request_id), f"{guard} acts on {request_id}")

    def idle(self) -> bool:
        """Nothing is open, and every page is back."""
        return all(
            worker.figure(name) == 0
            for worker in (self.prefill, self.decode)
            for name in ("num_open_reqs", "kv_used_pages", "kv_quarantined_pages")
        )

    def close(self) -> None:
        for worker in (self.prefill, self.decode):
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)
            worker.http.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._watching.__exit__(None, None, None)
        self._sink.close()
        self._ports.release()


@dataclass(frozen=True)
class Answer:
    status: int
    text: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - any JSON
        return json.loads(self.text)

    @property
    def reply(self) -> str:
        assert self.status == 200, self
        return str(self.json["choices"][0]["text"])

    @property
    def code(self) -> str:
        """Of the error, as a status or as the last event of a stream."""
        if self.text.startswith("data: "):
            last = self.text.strip().split("\n\n")[-1]
            return str(json.loads(last.removeprefix("data: "))["error"]["code"])
        return str(self.json["error"]["code"])


def _answer(url: str, request_id: str, body: Mapping[str, Any]) -> Answer:
    headers = {"X-Request-ID": request_id}
    reply = httpx.post(url + "/v1/completions", json=body, headers=headers, timeout=BOUND_S)
    return Answer(reply.status_code, reply.text)


@contextlib.contextmanager
def pair_of(launcher: Launcher, folder: Path, environment: Mapping[str, str]) -> Generator[Pair]:
    pair = Pair(launcher, folder, environment)
    try:
        yield pair
    finally:
        pair.close()


__all__ = ["Launcher", "Pair", "Worker", "pair_of", "until"]
