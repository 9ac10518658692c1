"""Puts together the prefill or the decode half: step thread's parts and IO thread's parts."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import torch

from kernels import dispatch
from stack.engine.bootstrap_server import BootstrapServer
from stack.engine.config import WorkerConfig
from stack.engine.decode_scheduler import DecodeScheduler
from stack.engine.decode_side import DecodeSide
from stack.engine.desk import Desk
from stack.engine.ending import Ending
from stack.engine.failpoints import Failpoints
from stack.engine.guards.bootstrap_timeout import BootstrapTimeout
from stack.engine.guards.heartbeat_to_decode import HeartbeatToDecode
from stack.engine.guards.heartbeat_to_prefill import HeartbeatToPrefill
from stack.engine.guards.kv_verification import KvVerification
from stack.engine.guards.page_quarantine import PageQuarantine
from stack.engine.guards.prefill_inflight_watchdog import PrefillInflightWatchdog
from stack.engine.guards.waiting_timeout import WaitingTimeout
from stack.engine.knobs import Knobs
from stack.engine.kv_receiver import KvReceiver
from stack.engine.ledger import Ledger
from stack.engine.model import Cache, Shape, Transformer
from stack.engine.order import Failure
from stack.engine.prefill_peer import PrefillPeer
from stack.engine.prefill_scheduler import PrefillScheduler
from stack.engine.prefill_side import PrefillSide
from stack.engine.rooms import Rooms, Side, Timer
from stack.engine.step_loop import StepLoop
from stack.engine.wire import BadFrame, line

Chore = Coroutine[Any, Any, None]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the engine process gives to either half. `keep` runs a chore, and ends the engine when
    it fails."""

    ledger: Ledger
    failpoints: Failpoints
    rooms: Rooms
    desk: Desk
    keep: Callable[[Chore], None]


@dataclass(frozen=True, slots=True)
class Half:
    """`figures` may be read from the IO thread at any time; `flush` runs in the step thread."""

    side: Side
    step: StepLoop
    timers: tuple[Timer, ...]
    flush: Callable[[], None]
    figures: Callable[[], dict[str, object]]


@dataclass(frozen=True, slots=True)
class _Outlet:
    """Carries what the step thread says into the IO thread's loop."""

    loop: asyncio.AbstractEventLoop
    side: PrefillSide | DecodeSide

    def page(self, room: int, ordinal: int, payload: bytes, checksum: int) -> None:
        assert isinstance(self.side, PrefillSide)
        self.loop.call_soon_threadsafe(self.side.page, room, ordinal, payload, checksum)

    def computed(self, room: int, first_token: int) -> None:
        assert isinstance(self.side, PrefillSide)
        self.loop.call_soon_threadsafe(self.side.computed, room, first_token)

    def allocated(self, room: int, pages: list[int]) -> None:
        assert isinstance(self.side, DecodeSide)
        self.loop.call_soon_threadsafe(self.side.allocated, room, pages)

    def tokens(self, room: int, tokens: list[int], ending: Ending | None) -> None:
        assert isinstance(self.side, DecodeSide)
        self.loop.call_soon_threadsafe(self.side.tokens, room, tokens, ending)

    def broken(self, room: int, failure: Failure) -> None:
        self.loop.call_soon_threadsafe(self.side.broken, room, failure)


def model(knobs: Knobs) -> Transformer:
    device = "cuda" if knobs.kernels == "triton" else "cpu"
    return Transformer(Shape(), knobs.seed, knobs.context_max, device)


async def prefill_half(config: WorkerConfig, knobs: Knobs, around: Surroundings) -> Half:
    assert config.bootstrap_port is not None
    bootstrap = BootstrapServer(uuid.uuid4().hex, _heartbeat_to_decode(knobs), lambda: side)
    side = PrefillSide(
        config, around.ledger, around.failpoints, around.rooms, bootstrap, around.desk
    )
    scheduler = PrefillScheduler(
        model(knobs), knobs, around.failpoints, _Outlet(asyncio.get_running_loop(), side)
    )
    step = StepLoop(scheduler)
    side.attach(step, scheduler)
    await bootstrap.serve(config.host, config.bootstrap_port)
    around.keep(bootstrap.beat())
    around.keep(side.watch_queue())

    def figures() -> dict[str, object]:
        cached = scheduler.prefixes.idle_pages
        return {
            **_figures(scheduler, step),
            "cached_pages": cached,
            "pages_used": scheduler.pool.used - cached,  # a cached page can be had at any time
            "prefix_hit_tokens": scheduler.prefixes.hit_tokens,
            "kv_bytes": side.kv_bytes_sent,
        }

    return Half(
        side,
        step,
        (_bootstrap_timeout(knobs), _inflight_watchdog(knobs)),
        scheduler.prefixes.flush,
        figures,
    )


async def decode_half(config: WorkerConfig, knobs: Knobs, around: Surroundings) -> Half:
    assert config.kv_port is not None
    lines = _Lines(config, _heartbeat_to_prefill(knobs), around.keep)
    side = DecodeSide(around.ledger, around.failpoints, around.rooms, around.desk.tokens, lines.to)
    lines.listener = side
    scheduler = DecodeScheduler(
        model(knobs), knobs, around.failpoints, _Outlet(asyncio.get_running_loop(), side)
    )
    step = StepLoop(scheduler)
    receiver = KvReceiver(PageWriter(scheduler.cache), knobs.kv_pages, side)
    quarantine = PageQuarantine(knobs.on("page_quarantine"), knobs.abort_drain_timeout_s)
    verification = KvVerification(knobs.on("kv_verification"))
    side.attach(step, scheduler, receiver, quarantine, verification)
    await receiver.serve(config.host, config.kv_port)
    around.keep(side.watch_drains())

    def figures() -> dict[str, object]:
        return {
            **_figures(scheduler, step),
            "generated": scheduler.tokens_generated,
            "pages_received": receiver.pages_received,
            **scheduler.kernel.figures(),
        }

    timers = (
        _bootstrap_timeout(knobs),
        WaitingTimeout(knobs.on("waiting_timeout"), knobs.waiting_timeout_s),
    )
    return Half(side, step, timers, _nothing, figures)


class PageWriter:
    """Lays a payload into a page of the cache, from the IO thread, as a card would."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._bytes = cache.pages[0].numel() * cache.pages.element_size()

    def __call__(self, page: int, payload: bytes) -> int:
        if len(payload) != self._bytes:
            raise BadFrame(f"expected a page of {self._bytes} bytes, got {len(payload)}")
        flat = torch.frombuffer(bytearray(payload), dtype=torch.uint8)
        return dispatch.page_unpack(self._cache.pages, page, flat)


class _Lines:
    """A decode's lines to prefills, opened when a room first needs one, and then kept."""

    def __init__(
        self, config: WorkerConfig, heartbeat: HeartbeatToPrefill, keep: Callable[[Chore], None]
    ) -> None:
        self._config = config
        self._heartbeat = heartbeat
        self._keep = keep
        self._lines: dict[tuple[str, int], PrefillPeer] = {}
        self._hello = line(
            "hello", name=config.name, instance=uuid.uuid4().hex, kv_port=config.kv_port
        )
        self.listener: DecodeSide | None = None

    def to(self, host: str, port: int) -> PrefillPeer:
        peer = self._lines.get((host, port))
        if peer is None:
            assert self.listener is not None
            name = f"prefill at {host}:{port}"
            peer = PrefillPeer(name, self._hello, self._heartbeat, self.listener)
            self._lines[host, port] = peer
            self._keep(peer.run(host, self._config.detour("bootstrap", port)))
            self._keep(peer.beat())
        return peer


def _figures(scheduler: PrefillScheduler | DecodeScheduler, step: StepLoop) -> dict[str, object]:
    pool = scheduler.pool
    return {
        "turns": step.turns + scheduler.progress,
        "pending": scheduler.pending,
        "running": scheduler.running,
        "waiting": scheduler.waiting,
        "pages": pool.size,
        "pages_free": pool.free,
        "pages_used": pool.used,
        "pages_quarantined": pool.quarantined,
        "prompt_tokens_computed": scheduler.model.prompt_tokens_computed,
    }


def _bootstrap_timeout(knobs: Knobs) -> BootstrapTimeout:
    return BootstrapTimeout(knobs.on("bootstrap_timeout"), knobs.bootstrap_timeout_s)


def _inflight_watchdog(knobs: Knobs) -> PrefillInflightWatchdog:
    on = knobs.on("prefill_inflight_watchdog")
    return PrefillInflightWatchdog(on, knobs.prefill_inflight_timeout_s)


def _heartbeat_to_prefill(knobs: Knobs) -> HeartbeatToPrefill:
    return HeartbeatToPrefill(
        knobs.on("heartbeat_to_prefill"),
        knobs.heartbeat_interval_s,
        knobs.heartbeat_failures_max,
    )


def _heartbeat_to_decode(knobs: Knobs) -> HeartbeatToDecode:
    return HeartbeatToDecode(
        knobs.on("heartbeat_to_decode"),
        knobs.heartbeat_interval_s,
        knobs.heartbeat_failures_max,
    )


def _nothing() -> None:
    """A decode keeps no prefixes."""
