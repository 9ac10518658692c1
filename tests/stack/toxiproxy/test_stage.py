"""A stage does what its toxic's words ask for, and loses nothing when it is interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from random import Random
from typing import ClassVar

import pytest

from stack.toxiproxy.flow import Flow
from stack.toxiproxy.pipe import Interrupted, Memory, Pipe, Take, Toxic, ToxicEntry
from stack.toxiproxy.stage import Feeder, Receiver, Stage
from stack.toxiproxy.toxics import TOXICS
from stack.toxiproxy.toxics.bandwidth import Bandwidth
from stack.toxiproxy.toxics.latency import Latency
from stack.toxiproxy.toxics.limit_data import LimitData
from stack.toxiproxy.toxics.noop import Noop
from stack.toxiproxy.toxics.reset_peer import ResetPeer
from stack.toxiproxy.toxics.slicer import Slicer
from stack.toxiproxy.toxics.slow_close import SlowClose
from stack.toxiproxy.toxics.timeout import Timeout


class Shelf:
    """A receiver that keeps what it gets, and has room or not as the test says."""

    read_bytes_max = 1 << 15
    feeder: Feeder

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.closed = asyncio.Event()
        self.has_room = True

    def put(self, data: memoryview | bytes, at_s: float) -> None:
        assert not self.ended, "bytes after the end"
        self.got.append(bytes(data))

    def put_end(self) -> None:
        self.closed.set()

    @property
    def ended(self) -> bool:
        return self.closed.is_set()


class Tap:
    """A feeder that the test turns by hand."""

    next: Receiver

    def __init__(self) -> None:
        self.asked = 0

    def interrupt(self) -> bool:
        return True

    def run(self) -> None:
        self.resume()

    def resume(self) -> None:
        self.asked += 1


@dataclass
class Bench:
    """A flow between a tap and a shelf, changed as a proxy changes it."""

    tap: Tap
    shelf: Shelf
    flow: Flow

    def add(self, toxic: Toxic, toxicity: float = 1.0) -> ToxicEntry:
        entry = ToxicEntry("t", type(toxic).__name__, "upstream", toxicity, toxic)
        self.flow.add(entry)
        return entry

    def say(self, data: bytes, at_s: float = 0.0) -> None:
        self.tap.next.put(data, at_s)

    def end(self) -> None:
        self.tap.next.put_end()


def bench() -> Bench:
    tap, shelf = Tap(), Shelf()
    return Bench(tap, shelf, Flow(tap, shelf, (), Random("bench")))


def in_a_loop(test: Callable[[], Coroutine[object, object, None]]) -> Callable[[], None]:
    def run() -> None:
        asyncio.run(test())

    run.__name__ = test.__name__
    return run


@in_a_loop
async def test_a_noop_passes_chunks_and_the_end() -> None:
    one = bench()
    one.add(Noop())
    one.say(b"a")
    one.say(b"b")
    one.end()
    assert (one.shelf.got, one.shelf.ended) == ([b"a", b"b"], True)


@in_a_loop
async def test_a_stage_asks_for_more_only_when_it_has_room() -> None:
    one = bench()
    one.add(Bandwidth(rate=0))
    asked = one.tap.asked
    one.say(b"held")
    assert one.tap.next.has_room
    one.say(b"waits in front")
    assert not one.tap.next.has_room
    assert one.tap.asked == asked + 1


@in_a_loop
async def test_the_first_of_two_toxics_goes_while_the_second_holds_without_losing_a_chunk() -> None:
    one = bench()
    first = one.add(Slicer(average_size=2, delay=0))
    second = one.add(Bandwidth(rate=0))
    one.say(b"abcdef")
    one.flow.remove(first)
    one.say(b"ghi")
    assert one.shelf.got == []
    one.flow.remove(second)
    assert b"".join(one.shelf.got) == b"abcdefghi"


@in_a_loop
async def test_a_toxic_goes_although_the_reader_is_stuck() -> None:
    one = bench()
    entry = one.add(Latency(latency=0))
    one.shelf.has_room = False
    one.say(b"a")
    one.say(b"b")
    assert one.shelf.got == []
    one.flow.remove(entry)
    assert one.shelf.got == [b"a", b"b"]


@in_a_loop
async def test_a_toxic_that_comes_behind_a_stall_does_not_see_what_was_held() -> None:
    one = bench()
    one.add(Bandwidth(rate=0))
    one.say(b"held")
    one.add(Timeout(timeout=0))
    assert one.shelf.got == [b"held"]


@in_a_loop
async def test_the_end_waits_behind_the_chunks() -> None:
    one = bench()
    entry = one.add(Latency(latency=1_000_000))
    one.say(b"a", at_s=asyncio.get_running_loop().time())
    one.end()
    assert not one.shelf.ended
    one.flow.remove(entry)
    assert (one.shelf.got, one.shelf.ended) == ([b"a"], True)


@in_a_loop
async def test_a_slow_close_that_is_changed_still_closes() -> None:
    one = bench()
    entry = one.add(SlowClose(delay=1_000_000))
    one.end()
    assert not one.shelf.ended
    entry.toxic = SlowClose(delay=0)
    one.flow.update(entry)
    assert one.shelf.ended


@in_a_loop
async def test_a_limit_remembers_what_has_passed_when_it_is_changed() -> None:
    one = bench()
    entry = one.add(LimitData(bytes=10))
    one.say(b"123456")
    entry.toxic = LimitData(bytes=8)
    one.flow.update(entry)
    one.say(b"123456")
    assert (one.shelf.got, one.shelf.ended) == ([b"123456", b"12"], True)


@in_a_loop
async def test_a_reset_that_has_begun_cannot_be_called_off() -> None:
    one = bench()
    entry = one.add(ResetPeer(timeout=20))
    one.say(b"lost")
    one.flow.remove(entry)
    assert not one.shelf.ended
    await asyncio.wait_for(one.shelf.closed.wait(), 5)
    assert one.shelf.got == []


@in_a_loop
async def test_a_timeout_counts_from_the_last_chunk() -> None:
    one = bench()
    one.add(Timeout(timeout=100))
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    await asyncio.sleep(0.05)  # some of the time has gone; nothing is waited for here
    one.say(b"lost")
    await asyncio.wait_for(one.shelf.closed.wait(), 5)
    assert loop.time() - began_s >= 0.15
    assert one.shelf.got == []


@in_a_loop
async def test_a_toxicity_of_zero_spares_the_stage() -> None:
    one = bench()
    one.add(Timeout(timeout=0), toxicity=0.0)
    one.say(b"a")
    assert one.shelf.got == [b"a"]


@in_a_loop
async def test_a_flow_that_has_ended_takes_no_toxic() -> None:
    one = bench()
    one.add(LimitData(bytes=1))
    one.say(b"ab")
    assert one.shelf.ended
    one.add(Noop())
    one.say(b"c")
    assert one.shelf.got == [b"a"]


@in_a_loop
async def test_a_toxic_that_goes_on_after_an_interrupt_is_an_error() -> None:
    one = bench()
    entry = one.add(Deaf())
    with pytest.raises(TypeError, match="expected only Give after Interrupted"):
        one.flow.remove(entry)


@dataclass(frozen=True, slots=True)
class Deaf:
    BUFFER_CHUNKS: ClassVar[int] = 1
    CLOSES_WHEN_REMOVED: ClassVar[bool] = False
    RESETS: ClassVar[bool] = False

    def pipe(self, memory: Memory) -> Pipe:
        while True:
            try:
                yield Take()
            except Interrupted:  # the mistake that is to be noticed
                continue


@pytest.mark.parametrize("variation", [0, 3, 50])
def test_slices_are_the_chunk_again_and_small_enough(variation: int) -> None:
    slicer = Slicer(average_size=10, size_variation=variation)
    data = Random("data").randbytes(5000)
    pieces = list(slicer.pieces(data, Random("cut")))
    assert b"".join(piece for _, piece in pieces) == data
    assert [end for end, _ in pieces][-1] == len(data)
    assert max(len(piece) for _, piece in pieces) <= 10 + variation


def test_a_slicer_without_a_size_still_makes_progress() -> None:
    assert [piece for _, piece in Slicer().pieces(b"abc", Random("cut"))] == [b"a", b"b", b"c"]


def test_latency_stays_within_its_jitter() -> None:
    rng = Random("jitter")
    delays = {Latency(latency=100, jitter=10).delay_s(rng) for _ in range(500)}
    assert 0.09 <= min(delays) < max(delays) < 0.11


def test_a_stage_keeps_to_the_shape_of_its_neighbours() -> None:
    stage: Receiver = Stage(
        ToxicEntry("n", "noop", "upstream", 1.0, Noop()), Random(0), Tap(), Shelf()
    )
    assert stage.read_bytes_max == 1 << 15
    assert all(name == name.lower() for name in TOXICS)
