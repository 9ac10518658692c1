"""Gives arriving requests their pages, and computes one token for each running one a step."""

from __future__ import annotations

from collections import deque

from stack.engine.failpoints import Failpoints, Injected, Stops
from stack.engine.kernel_hang import KernelHang, decode_kernel
from stack.engine.knobs import Knobs
from stack.engine.model import Cache, Transformer
from stack.engine.order import Failure, Order
from stack.engine.outlets import DecodeOutlet
from stack.engine.page_pool import PagePool, pages_for
from stack.engine.sampler import sample
from stack.engine.sequence import Sequence


class DecodeScheduler:
    """Lives in the step thread. A request gets all pages it may ever need at once, so that no
    running one must be put back; it runs when its prompt's KV has arrived and was verified.
    """

    def __init__(
        self, model: Transformer, knobs: Knobs, failpoints: Failpoints, outlet: DecodeOutlet
    ) -> None:
        self.model = model
        self._knobs = knobs
        self._failpoints = failpoints
        self._outlet = outlet
        self.kernel = KernelHang(decode_kernel(knobs, model.shape))
        self._stops = Stops(failpoints, "decode.token")
        self.cache = Cache(model.shape, knobs.kv_pages, knobs.page_size, model.device)
        self.pool = PagePool(knobs.kv_pages)
        self._waiting: deque[Order] = deque()
        self._receiving: dict[int, Sequence] = {}
        self._running: dict[int, Sequence] = {}
        self.tokens_generated = 0
        self.progress = 0

    @property
    def pending(self) -> int:
        return len(self._waiting) + len(self._running)

    @property
    def running(self) -> int:
        return min(len(self._running), self._knobs.running_max)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def submit(self, order: Order) -> None:
        """Its prefill is known: find it pages."""
        self._waiting.append(order)

    def start(self, room: int, first_token: int) -> None:
        """Its KV is here. Nothing happens when it failed in the meantime."""
        sequence = self._receiving.pop(room, None)
        if sequence is None:
            return
        sequence.computed = len(sequence.order.tokens)
        sequence.output.append(first_token)
        self._running[room] = sequence

    def release(self, room: int, *, quarantined: bool) -> None:
        """Forget it, wherever it stands; quarantined pages wait for `discharge`."""
        self._stops.forget(room)
        self._waiting = deque(order for order in self._waiting if order.room != room)
        for holders in (self._receiving, self._running):
            sequence = holders.pop(room, None)
            if sequence is None:
                continue
            if quarantined:
                self.pool.quarantine(room, sequence.pages)
            else:
                self.pool.give_back(sequence.pages)

    def step(self) -> bool:
        self._admit()
        if not self._running:
            return False
        batch = list(self._running.values())[: self._knobs.running_max]
        present = [sequence.order.request_id for sequence in batch]
        try:
            if not self._failpoints.blocking("decode.step", present):
                return False
        except Injected as error:
            for room in self._running:
                self._outlet.broken(room, Failure("failpoint", str(error)))
            return True
        return sum(self._advance(sequence) for sequence in batch) > 0

    def _admit(self) -> None:
        while self._waiting:
            order = self._waiting[0]
            pages = self.pool.take(pages_for(order.positions_max, self._knobs.page_size))
            if pages is None:
                return
            self._waiting.popleft()
            self._receiving[order.room] = Sequence(order, pages, device=self.model.device)
            prompt_pages = pages_for(len(order.tokens), self._knobs.page_size)
            self._outlet.allocated(order.room, pages[:prompt_pages])

    def _advance(self, sequence: Sequence) -> bool:
        """Compute the next token, then send the newest one, as a step's results come at its end.

        False when it is held.
        """
        order = sequence.order
        try:
            passing = self._stops.check(order.room, order.request_id)
        except Injected as error:
            self._outlet.broken(order.room, Failure("failpoint", str(error)))
            self._running.pop(order.room)
            self._receiving[order.room] = sequence  # still its pages' owner until released
            return True
        if passing == "skip":
            return False
        ending, newest = sequence.ending(), sequence.output[-1:]
        if ending is None:
            self._compute(sequence)
        else:
            self._receiving[order.room] = self._running.pop(order.room)
        self.tokens_generated += 1
        self.progress += 1
        if passing == "pass":
            self._outlet.tokens(order.room, newest, ending)
        return True

    def _compute(self, sequence: Sequence) -> None:
        position = sequence.computed
        self.kernel.stage(position + 1)
        logits = self.model.decode(sequence.output[-1], position, self.cache, sequence.table)
        sequence.computed += 1
        sequence.output.append(sample(logits, sequence.order, position + 1))
