"""What an operator or a router can see of a worker: health, information, loads, metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from stack.engine.config import WorkerConfig
from stack.engine.engine_link import EngineLink, NoAnswer
from stack.engine.failpoints import Failpoints, Injected
from stack.engine.guards.drain import Drain
from stack.engine.guards.progress_health import ProgressHealth
from stack.engine.knobs import Knobs
from stack.engine.ledger import Ledger
from stack.engine.metrics_page import metrics_page
from stack.engine.order import UNAVAILABLE, Failure
from stack.engine.progress import Progress

MODEL = "pd-chaos-tiny"
TURN_S = 1.0
FIGURES_S = 0.2


@dataclass(frozen=True, slots=True)
class HealthState:
    """What /health looks at: whether the engine gets on, and whether the worker stays."""

    progress: Progress
    drain: Drain


class Observers:
    """Answers from what the engine last said; only /health_generate asks it anything."""

    def __init__(
        self,
        config: WorkerConfig,
        knobs: Knobs,
        link: EngineLink,
        state: HealthState,
        ledger: Ledger,
        failpoints: Failpoints,
    ) -> None:
        self._config = config
        self._knobs = knobs
        self._link = link
        self._progress = state.progress
        self._ledger = ledger
        self._failpoints = failpoints
        self._drain = state.drain
        self._guard = ProgressHealth(knobs.on("progress_health"), knobs.step_timeout_s)
        self._was_well = True

    async def health(self, request: web.Request) -> web.Response:
        try:
            if not await self._failpoints.passing("health.answer", None):
                await asyncio.Event().wait()  # the answer is lost
        except Injected as error:
            return _unwell(str(error))
        going = self._drain.refusal()
        if going is not None:
            return _refused(going)
        complaint = self._guard.complaint(self._progress)
        if complaint is not None and self._was_well:
            self._ledger.guarded(self._guard.name, self._config.name, complaint)
        self._was_well = complaint is None
        return web.Response(text="") if complaint is None else _unwell(complaint)

    async def health_generate(self, request: web.Request) -> web.Response:
        """Green only when the step thread itself answers."""
        going = self._drain.refusal()
        if going is not None:
            return _refused(going)
        try:
            await self._link.ask("turn", TURN_S)
        except NoAnswer as error:
            return _unwell(str(error))
        return web.Response(text="")

    async def server_info(self, request: web.Request) -> web.Response:
        return web.json_response(
            {
                "model_path": MODEL,
                "served_model_name": MODEL,
                "disaggregation_mode": self._config.role,
                "disaggregation_bootstrap_port": self._config.bootstrap_port,
                "tp_size": 1,
                "dp_size": 1,
                "max_running_requests": self._knobs.running_max,
                "max_total_num_tokens": self._knobs.kv_pages * self._knobs.page_size,
                "page_size": self._knobs.page_size,
                "version": "0.5.23",
            }
        )

    async def model_info(self, request: web.Request) -> web.Response:
        return web.json_response(
            {
                "model_path": MODEL,
                "served_model_name": MODEL,
                "tokenizer_path": MODEL,
                "is_generation": True,
                "model_type": "llama",
                "architectures": ["LlamaForCausalLM"],
            }
        )

    async def models(self, request: web.Request) -> web.Response:
        entry = {
            "id": MODEL,
            "object": "model",
            "created": 0,
            "owned_by": "sglang",
            "root": MODEL,
            "max_model_len": self._knobs.context_max,
        }
        return web.json_response({"object": "list", "data": [entry]})

    async def loads(self, request: web.Request) -> web.Response:
        figures = await self._figures()
        used = figures.get("pages_used", 0) * self._knobs.page_size
        total = self._knobs.kv_pages * self._knobs.page_size
        load = {
            "dp_rank": 0,
            "num_running_reqs": figures.get("running", 0),
            "num_waiting_reqs": figures.get("waiting", 0),
            "num_total_reqs": figures.get("open", 0),
            "num_used_tokens": used,
            "max_total_num_tokens": total,
            "token_usage": used / total,
            "max_running_requests": self._knobs.running_max,
            "disaggregation": {
                "mode": self._config.role,
                **queue_depths(self._config.role, figures.get("census", {})),
            },
            "queues": {"waiting": figures.get("waiting", 0)},
        }
        return web.json_response({"version": "0.5.23", "dp_rank_count": 1, "loads": [load]})

    async def metrics(self, request: web.Request) -> web.Response:
        figures = await self._figures()
        text = metrics_page(
            self._config.role,
            self._knobs.page_size,
            figures,
            queue_depths(self._config.role, figures.get("census", {})),
            self._ledger,
        )
        return web.Response(text=text, content_type="text/plain")

    async def _figures(self) -> Mapping[str, Any]:
        """Fresh ones, or the last that there were: a frozen engine must not hide its gauges."""
        with suppress(NoAnswer):
            return await self._link.ask("figures", FIGURES_S)
        return self._link.figures

    async def flush_cache(self, request: web.Request) -> web.Response:
        try:
            await self._link.ask("flush")
        except NoAnswer as error:
            return _unwell(str(error))
        return web.Response(text="Cache flushed.\n")

    async def abort_request(self, request: web.Request) -> web.Response:
        body: dict[str, Any] = await request.json() if request.can_read_body else {}
        everybody = bool(body.get("abort_all"))
        for leg in list(self._link.legs.values()):
            if everybody or leg.order.request_id == body.get("rid"):
                why = "aborted by /abort_request"
                self._link.abort(leg.order.room, Failure("aborted", why))
        return web.Response(text="")


def queue_depths(role: str, census: dict[str, int]) -> dict[str, int]:
    """SGLang's four queues, from where the open requests stand."""
    prefill, decode = role == "prefill", role == "decode"
    bootstrap = census.get("bootstrap", 0)
    flying = census.get("transfer", 0) + census.get("handover", 0)
    return {
        "prefill_bootstrap_queue_reqs": bootstrap * prefill,
        "prefill_inflight_queue_reqs": flying * prefill,
        "decode_prealloc_queue_reqs": bootstrap * decode,
        "decode_transfer_queue_reqs": (flying + census.get("admit", 0)) * decode,
    }


def _unwell(why: str) -> web.Response:
    return _refused(Failure("unhealthy", why, UNAVAILABLE))


def _refused(failure: Failure) -> web.Response:
    return web.json_response(failure.body(), status=failure.status)
