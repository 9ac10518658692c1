"""Owns the reading of probes: a thread each, so that a slow one delays nobody."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event, Thread

from chaos.actor import RESOURCE, SIGNAL
from chaos.clock import ns, seconds
from chaos.contracts import Probe, Reading, Unreadable
from chaos.event import Json, Kind
from chaos.recorder import Recorder

EVERY_S = 0.2  # five times a second: an alert of half a second sees two samples or three


@contextmanager
def sampling(probes: Sequence[Probe], recorder: Recorder, every_s: float) -> Generator[None]:
    """While inside, read every probe again and again. Leaving waits for nobody."""
    stop = Event()
    for probe in probes:
        Thread(
            target=_sample,
            args=(probe, recorder, every_s, stop),
            name=f"sample {probe.name}",
            daemon=True,
        ).start()
    try:
        yield
    finally:
        stop.set()


def _sample(probe: Probe, recorder: Recorder, every_s: float, stop: Event) -> None:
    while not stop.is_set() and _read(probe, recorder, SIGNAL, stop) is not None:
        stop.wait(every_s)


def _read(
    probe: Probe, recorder: Recorder, actor: str, stop: Event
) -> Mapping[str, Reading] | None:
    """Read once and write it down, unless stopped meanwhile. None: our own probe failed."""
    try:
        readings = probe.read()
    except Unreadable as error:
        if not stop.is_set():
            recorder.write(actor, Kind.UNREADABLE, probe.name, {"why": str(error)})
        return {}
    except Exception as error:  # noqa: BLE001 - a thread has nobody to raise to
        recorder.tool_error(actor, probe.name, repr(error))
        return None
    if stop.is_set():
        return {}
    for reading in readings:
        detail: dict[str, Json] = {"value": reading.value, "probe": probe.name}
        if reading.idle:
            detail["idle"] = True
        recorder.write(actor, Kind.READING, reading.name, detail)
    return {reading.name: reading for reading in readings}


def read_all(probes: Sequence[Probe], recorder: Recorder, bound_s: float) -> Mapping[str, Reading]:
    """Read every resource once, side by side. One that is late is written down as unreadable."""
    stop = Event()
    values: dict[str, Reading] = {}

    def read(probe: Probe) -> None:
        values.update(_read(probe, recorder, RESOURCE, stop) or {})

    threads = [Thread(target=read, args=(probe,), daemon=True) for probe in probes]
    for thread in threads:
        thread.start()
    overdue_ns = recorder.now_ns() + ns(bound_s)
    for thread, probe in zip(threads, probes, strict=True):
        thread.join(max(0.0, seconds(overdue_ns - recorder.now_ns())))
        if thread.is_alive():
            why = f"no answer within {bound_s:g} s"
            recorder.write(RESOURCE, Kind.UNREADABLE, probe.name, {"why": why})
    stop.set()
    return dict(values)
