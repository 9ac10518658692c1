"""The byte counters of the proxies, under the names of Toxiproxy's Prometheus page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

_NAME = "toxiproxy_proxy_{verb}_bytes_total"


@dataclass(slots=True)
class ByteCounters:
    """One proxy's bytes: added when a flow ends, as the real one does."""

    proxy: str
    listener: str
    upstream: str
    bytes: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    def adder(self, direction: str, verb: str) -> Callable[[int], None]:
        """Verb: "received" from the sender | "sent" to the far side."""

        def add(count: int) -> None:
            self.bytes[direction, verb] += count

        return add


class MetricsPage:
    def __init__(self) -> None:
        self._counters: dict[tuple[str, str, str], ByteCounters] = {}

    def counters(self, proxy: str, listener: str, upstream: str) -> ByteCounters:
        key = (proxy, listener, upstream)
        return self._counters.setdefault(key, ByteCounters(*key))

    def text(self) -> str:
        lines: list[str] = []
        for verb in ("received", "sent"):
            name = _NAME.format(verb=verb)
            lines += [f"# HELP {name} ", f"# TYPE {name} counter"]
            lines += [
                f'{name}{{direction="{direction}",listener="{one.listener}",'
                f'proxy="{one.proxy}",upstream="{one.upstream}"}} {count}'
                for one in self._counters.values()
                for (direction, counted), count in one.bytes.items()
                if counted == verb
            ]
        return "\n".join(lines) + "\n"
