"""One direction of a connection: a source, the stages of its toxics, a sink."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from stack.toxiproxy.pipe import ToxicEntry
from stack.toxiproxy.stage import Feeder, Receiver, Stage


class Flow:
    """Its chain can be changed at any moment, and nothing in it waits for that."""

    def __init__(
        self, source: Feeder, sink: Receiver, entries: Iterable[ToxicEntry], rng: Random
    ) -> None:
        self._source = source
        self._sink = sink
        self._rng = rng
        self._stages: list[Stage] = []
        _join(source, sink)
        for entry in entries:
            self._append(entry)

    def start(self) -> None:
        for stage in self._stages:
            stage.run()
        self._source.run()

    def add(self, entry: ToxicEntry) -> None:
        last = self._last()
        if last.interrupt():  # else the flow has ended already, and the toxic has no work here
            self._append(entry).run()
            last.run()

    def update(self, entry: ToxicEntry) -> None:
        stage = self._stage(entry)
        if stage is not None and stage.interrupt():
            stage.run()

    def remove(self, entry: ToxicEntry) -> None:
        stage = self._stage(entry)
        if stage is None or not stage.interrupt():
            return
        if entry.toxic.CLOSES_WHEN_REMOVED:
            stage.close()
            return
        before = stage.feeder
        goes_on = before.interrupt()
        stage.drain()
        if stage.closed:
            return
        _join(before, stage.next)
        self._stages.remove(stage)
        if goes_on:
            before.run()

    def abandon(self) -> None:
        for stage in self._stages:
            stage.abandon()

    def _last(self) -> Feeder:
        return self._stages[-1] if self._stages else self._source

    def _append(self, entry: ToxicEntry) -> Stage:
        last = self._last()
        stage = Stage(entry, self._rng, last, self._sink)
        _join(last, stage)
        _join(stage, self._sink)
        self._stages.append(stage)
        return stage

    def _stage(self, entry: ToxicEntry) -> Stage | None:
        return next((stage for stage in self._stages if stage.entry is entry), None)


def _join(feeder: Feeder, receiver: Receiver) -> None:
    feeder.next = receiver
    receiver.feeder = feeder
