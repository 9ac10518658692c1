"""The front process: serves HTTP, and replaces nothing itself: when its engine ends, it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from contextlib import suppress

from aiohttp import web

from stack.engine.admin import Admin
from stack.engine.config import WorkerConfig
from stack.engine.counter import Counter, FrontGuards
from stack.engine.desk import CHANNEL_LINE_BYTES_MAX
from stack.engine.doorway import bound
from stack.engine.engine_link import EngineLink
from stack.engine.failpoints import FRONT_SITES, Failpoints
from stack.engine.graceful_shutdown import GracefulShutdown
from stack.engine.guards.abort_propagation import AbortPropagation
from stack.engine.guards.admission_bounds import AdmissionBounds
from stack.engine.guards.drain import Drain
from stack.engine.guards.step_watchdog import StepWatchdog
from stack.engine.guards.stream_idle_guard import StreamIdleGuard
from stack.engine.knobs import Knobs
from stack.engine.ledger import Ledger
from stack.engine.observers import HealthState, Observers
from stack.engine.order import Failure
from stack.engine.progress import LOOK_S, Progress
from stack.engine.trace import Trace

BODY_BYTES_MAX = 1 << 26
LAST_WORDS_S = 0.3  # for error replies to leave before the process does
STARTS_WITHIN_S = 60.0
SOCKET_BUFFER_BYTES = 32768
ENGINE_DIED_EXIT_CODE = 71
WATCHDOG_EXIT_CODE = 72


class Front:
    """One worker's public side. `run` returns the process's exit code."""

    def __init__(
        self, config: WorkerConfig, knobs: Knobs, engine_pid: int, channel: socket.socket
    ) -> None:
        self._config = config
        self._knobs = knobs
        self._engine_pid = engine_pid
        self._channel = channel
        self._ledger = Ledger(Trace(config.trace_path, config.name))
        self._failpoints = Failpoints(FRONT_SITES)
        self._progress = Progress()
        self._watchdog = StepWatchdog(knobs.on("step_watchdog"), knobs.step_timeout_s)
        self._drain = Drain(knobs.on("drain"), knobs.drain_timeout_s)

    async def run(self) -> int:
        reader, writer = await asyncio.open_connection(
            sock=self._channel, limit=CHANNEL_LINE_BYTES_MAX
        )
        self._link = EngineLink(reader, writer)
        ends = asyncio.get_running_loop().create_future()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, _settle, ends, 0)  # nobody is served yet
        listening = loop.create_task(self._listen(ends))
        async with asyncio.timeout(STARTS_WITHIN_S):
            await self._link.ready.wait()
        runners = await self._serve()
        shutdown = GracefulShutdown(self._drain, self._link, self._ledger, self._unanswered, ends)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, shutdown.told)
        watching = loop.create_task(self._watch(ends))
        code: int = await ends
        for task in (watching, listening):
            task.cancel()
        self._kill_engine()
        if code:
            # Whoever comes now must be refused, not answered by a worker that is about to go.
            for runner in runners:
                for site in tuple(runner.sites):
                    await site.stop()
            await asyncio.sleep(LAST_WORDS_S)
        for runner in runners:
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORDS_S):
                    await runner.cleanup()
        self._ledger.flush()
        return code

    async def _serve(self) -> list[web.AppRunner]:
        config = self._config
        self._public = await _listening(self._application(), config.host, config.port)
        runners = [self._public]
        if config.admin_port is not None:
            admin = Admin(config.admin_token, self._engine_pid, self._link, self._failpoints)
            runners.append(await _listening(admin.application(), config.host, config.admin_port))
        return runners

    def _application(self) -> web.Application:
        app = web.Application(client_max_size=BODY_BYTES_MAX)
        see = Observers(
            self._config,
            self._knobs,
            self._link,
            HealthState(self._progress, self._drain),
            self._ledger,
            self._failpoints,
        )
        self._counter = counter = Counter(
            self._config.role, self._link, self._ledger, self._failpoints, self._guards()
        )
        app.router.add_post("/generate", counter.generate)
        app.router.add_post("/v1/completions", counter.completions)
        app.router.add_post("/v1/chat/completions", counter.chat)
        app.router.add_post("/abort_request", see.abort_request)
        app.router.add_post("/flush_cache", see.flush_cache)
        for path, page in {
            "/health": see.health,
            "/health_generate": see.health_generate,
            "/server_info": see.server_info,
            "/get_server_info": see.server_info,
            "/model_info": see.model_info,
            "/get_model_info": see.model_info,
            "/v1/models": see.models,
            "/v1/loads": see.loads,
            "/loads": see.loads,
            "/metrics": see.metrics,
        }.items():
            app.router.add_get(path, page)
        return app

    def _guards(self) -> FrontGuards:
        knobs = self._knobs
        return FrontGuards(
            AbortPropagation(knobs.on("abort_propagation")),
            AdmissionBounds(
                knobs.on("admission_bounds"),
                knobs.running_max + knobs.queued_max,
                knobs.kv_pages,
                knobs.page_size,
                knobs.context_max,
            ),
            StreamIdleGuard(knobs.on("stream_idle_guard"), knobs.stream_idle_timeout_s),
            self._drain,
        )

    def _unanswered(self) -> bool:
        """Whether a reply is not written yet, or stands in a buffer of ours."""
        server = self._public.server
        sockets = [one.transport for one in server.connections] if server is not None else []
        unsent = any(one is not None and one.get_write_buffer_size() for one in sockets)
        return self._counter.serving > 0 or unsent

    async def _listen(self, ends: asyncio.Future[int]) -> None:
        await self._link.listen()
        name, why = "subprocess_watchdog", "the engine process ended"
        for leg in self._link.fail_all(Failure(name, f"{name}: {why}")):
            self._ledger.guarded(name, leg.order.request_id, why, leg.order.room)
        _settle(ends, ENGINE_DIED_EXIT_CODE)

    async def _watch(self, ends: asyncio.Future[int]) -> None:
        """For ever: measure the engine's progress, and act when there is none."""
        while not ends.done():
            await asyncio.sleep(LOOK_S)
            self._ledger.flush()
            figures = self._link.figures
            pending = max(figures.get("pending", 0), len(self._link.legs))
            now_s = time.monotonic()
            self._progress.look(now_s, self._link.beats, figures.get("turns", 0), pending)
            why = self._watchdog.verdict(self._progress)
            if why is not None:
                self._replace(why)
                _settle(ends, WATCHDOG_EXIT_CODE)

    def _replace(self, why: str) -> None:
        name = self._watchdog.name
        for leg in self._link.fail_all(Failure(name, f"{name}: {why}")):
            self._ledger.guarded(name, leg.order.request_id, why, leg.order.room)
        self._ledger.guarded(name, self._config.name, why)

    def _kill_engine(self) -> None:
        """By its pid: it is our own child and not yet reaped, so the pid is still its.

        It is never reaped here: whoever watches us reads from the zombie how it ended.
        """
        with suppress(ProcessLookupError):
            os.kill(self._engine_pid, signal.SIGKILL)


def _settle(ends: asyncio.Future[int], code: int) -> None:
    if not ends.done():
        ends.set_result(code)


async def _listening(app: web.Application, host: str, port: int) -> web.AppRunner:
    """A handler is cancelled as soon as its client is gone: that is how an abort begins."""
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None)
    await runner.setup()
    # A small buffer: an unread reply is noticed before it is megabytes long.
    listener = await bound(host, port, SOCKET_BUFFER_BYTES)
    await web.SockSite(runner, listener, backlog=1024).start()
    return runner
