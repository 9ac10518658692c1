"""A full worker says so at once, and so does one that a request can never fit into."""

from __future__ import annotations

from dataclasses import dataclass

from stack.engine.order import BAD_REQUEST, UNAVAILABLE, Failure, Order
from stack.engine.page_pool import pages_for


@dataclass(frozen=True, slots=True)
class AdmissionBounds:
    """Off, the queue has no end, and what never fits waits for ever.

    It has no clock. It counts who runs and who waits here: a prefill does not count those who wait
    for a decode's pages, which that decode counts.
    """

    on: bool
    open_max: int  # running and queued
    pages: int
    page_size: int
    context_max: int
    name: str = "admission_bounds"
    knob: str = "PDCHAOS_MAX_QUEUED"

    def refusal(self, orders: list[Order], already_open: int) -> Failure | None:
        if not self.on:
            return None
        for order in orders:
            if not self._fits(order):
                why = (
                    f"{self.name}: {order.positions_max} tokens never fit into a context of "
                    f"{self.context_max} and {self.pages} pages of {self.page_size}"
                )
                return Failure(self.name, why, BAD_REQUEST)
        if already_open + len(orders) > self.open_max:
            why = f"{self.name}: {already_open} requests are open, {self.open_max} may be"
            return Failure(self.name, why, UNAVAILABLE)
        return None

    def _fits(self, order: Order) -> bool:
        wanted = pages_for(order.positions_max, self.page_size)
        return order.positions_max <= self.context_max and wanted <= self.pages
