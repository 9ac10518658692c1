"""Decides which prompt is computed next, in chunks, and hands out its pages as they come."""

from __future__ import annotations

from collections import deque

from torch import Tensor

from kernels import dispatch
from stack.engine.failpoints import Failpoints, Injected, Stops
from stack.engine.knobs import Knobs
from stack.engine.model import Cache, Transformer
from stack.engine.order import Failure, Order
from stack.engine.outlets import PrefillOutlet
from stack.engine.page_pool import PagePool, pages_for
from stack.engine.prefix_cache import PrefixCache
from stack.engine.sampler import sample
from stack.engine.sequence import Sequence


class PrefillScheduler:
    """Lives in the step thread. First come, first computed; a held one lets others pass."""

    def __init__(
        self, model: Transformer, knobs: Knobs, failpoints: Failpoints, outlet: PrefillOutlet
    ) -> None:
        self.model = model
        self._knobs = knobs
        self._failpoints = failpoints
        self._outlet = outlet
        self._stops = Stops(failpoints, "prefill.chunk")
        self.cache = Cache(model.shape, knobs.kv_pages, knobs.page_size, model.device)
        self.pool = PagePool(knobs.kv_pages)
        self.prefixes = PrefixCache(self.pool, knobs.page_size, on=knobs.prefix_cache)
        self._waiting: deque[Order] = deque()
        self._computing: dict[int, Sequence] = {}
        self._handing_over: dict[int, Sequence] = {}
        self.queued: frozenset[int] = frozenset()  # rooms to which the last step did not come
        self.progress = 0

    @property
    def pending(self) -> int:
        return len(self._waiting) + len(self._computing)

    @property
    def running(self) -> int:
        return len(self._computing)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def submit(self, order: Order) -> None:
        """Its decode is known: compute it."""
        self._waiting.append(order)

    def release(self, room: int) -> None:
        """It was handed over, or it failed: forget it, wherever it stands."""
        self._stops.forget(room)
        self._waiting = deque(order for order in self._waiting if order.room != room)
        for holders in (self._computing, self._handing_over):
            sequence = holders.pop(room, None)
            if sequence is not None:
                self.pool.give_back(sequence.pages)

    def step(self) -> bool:
        if not self.pending:
            return False
        self._admit()
        present = [sequence.order.request_id for sequence in self._computing.values()]
        try:
            if not self._failpoints.blocking("prefill.step", present):
                return False
        except Injected as error:
            self._fail_all(str(error))
            return True
        left, reached = self._knobs.chunk_tokens, set[int]()
        for room, sequence in list(self._computing.items()):
            if left <= 0:
                break
            reached.add(room)
            left -= self._chunk(sequence, left)
        waiting = (order.room for order in self._waiting)
        self.queued = frozenset((*waiting, *self._computing)) - reached
        return left < self._knobs.chunk_tokens

    def _fail_all(self, why: str) -> None:
        for sequence in self._computing.values():
            self._outlet.broken(sequence.order.room, Failure("failpoint", why))

    def _admit(self) -> None:
        while self._waiting and len(self._computing) < self._knobs.running_max:
            sequence = self._seated(self._waiting[0])
            if sequence is None:
                return
            self._waiting.popleft()
            self._computing[sequence.order.room] = sequence

    def _seated(self, order: Order) -> Sequence | None:
        """With pages for the whole prompt, known ones first; None while there are too few."""
        known = self.prefixes.match(order.tokens)
        wanted = pages_for(len(order.tokens), self._knobs.page_size) - len(known)
        self.prefixes.evict(wanted)
        fresh = self.pool.take(wanted)
        if fresh is None:
            self.pool.give_back(known)
            return None
        sequence = Sequence(
            order, known + fresh, len(known) * self._knobs.page_size, self.model.device
        )
        for ordinal in range(len(known)):
            self._publish(sequence, ordinal)
        return sequence

    def _chunk(self, sequence: Sequence, tokens_max: int) -> int:
        """Compute up to that many tokens of this prompt; returns how many it were."""
        room = sequence.order.room
        try:
            passing = self._stops.check(room, sequence.order.request_id)
        except Injected as error:
            self._outlet.broken(room, Failure("failpoint", str(error)))
            passing = "skip"
        if passing == "skip":
            return 0
        done = 0
        hidden: Tensor | None = None
        while done < tokens_max and sequence.computed < len(sequence.order.tokens):
            ordinal = sequence.computed // self._knobs.page_size
            hidden = self._block(sequence)
            done = done + hidden.shape[0]
            if passing == "pass":
                self._publish(sequence, ordinal)
        if hidden is not None and sequence.computed == len(sequence.order.tokens):
            self._finish(sequence, hidden)
        return done

    def _block(self, sequence: Sequence) -> Tensor:
        start = sequence.computed
        tokens = list(sequence.order.tokens[start : start + self._knobs.page_size])
        hidden = self.model.prefill_block(tokens, start, self.cache, sequence.table)
        sequence.computed += len(tokens)
        self.progress += 1
        return hidden

    def _finish(self, sequence: Sequence, hidden: Tensor) -> None:
        order = sequence.order
        self._handing_over[order.room] = self._computing.pop(order.room)
        self.prefixes.keep(order.tokens, sequence.pages)
        first = sample(self.model.logits(hidden), order, len(order.tokens))
        self._outlet.computed(order.room, first)

    def _publish(self, sequence: Sequence, ordinal: int) -> None:
        payload, checksum = dispatch.page_pack(self.cache.pages, sequence.pages[ordinal])
        self._outlet.page(sequence.order.room, ordinal, payload.numpy().tobytes(), checksum)
