"""Experiments on the engine's core, in a process of their own: JSON in, JSON out.

A prefill scheduler and a decode scheduler in one process, without sockets: pages are carried
over by hand, so that an experiment can damage them on the way.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

import torch

from kernels import dispatch
from stack.engine.decode_scheduler import DecodeScheduler
from stack.engine.ending import Ending
from stack.engine.failpoints import ENGINE_SITES, Failpoints
from stack.engine.half import model
from stack.engine.knobs import default_knobs
from stack.engine.order import Failure, Order
from stack.engine.prefill_scheduler import PrefillScheduler

KNOBS = replace(default_knobs(), kv_pages=2600, chunk_tokens=48, context_max=1024)
SLOT_BYTES = 2 * 16 * 4  # kv_heads, head_dim, float32
FLIP = (0, 0, 0, 0x80)  # the sign bit of a little-endian float32
Pages = dict[int, bytes]
Damage = Callable[[Pages], None]


@dataclass
class Made:
    """What the schedulers said; both outlets in one."""

    pages: dict[int, Pages] = field(default_factory=dict[int, Pages])
    first: dict[int, int] = field(default_factory=dict[int, int])
    targets: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    replies: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    ended: set[int] = field(default_factory=set[int])

    def page(self, room: int, ordinal: int, payload: bytes, checksum: int) -> None:
        self.pages.setdefault(room, {})[ordinal] = payload

    def computed(self, room: int, first_token: int) -> None:
        self.first[room] = first_token

    def allocated(self, room: int, pages: list[int]) -> None:
        self.targets[room] = pages

    def tokens(self, room: int, tokens: list[int], ending: Ending | None) -> None:
        self.replies.setdefault(room, []).extend(tokens)
        if ending is not None:
            self.ended.add(room)

    def broken(self, room: int, failure: Failure) -> None:
        raise AssertionError(failure)


class Core:
    """Both halves. Rooms are numbered as they come."""

    def __init__(self, *, prefixes: bool = True) -> None:
        knobs = replace(KNOBS, prefix_cache=prefixes)
        self.made = Made()
        failpoints = Failpoints(ENGINE_SITES)
        self.prefill = PrefillScheduler(model(knobs), knobs, failpoints, self.made)
        self.decode = DecodeScheduler(model(knobs), knobs, failpoints, self.made)
        self._rooms = 0

    def computed(self, orders: list[Order]) -> list[int]:
        """Prefill them together; returns their rooms."""
        rooms: list[int] = []
        for order in orders:
            self._rooms += 1
            rooms.append(self._rooms)
            self.prefill.submit(replace(order, room=self._rooms))
        while self.prefill.step():
            pass
        for room in rooms:
            self.prefill.release(room)
        return rooms

    def replies(
        self, orders: list[Order], rooms: list[int], damage: Damage | None = None
    ) -> list[list[int]]:
        """Hand the pages over and decode all of them together."""
        for order, room in zip(orders, rooms, strict=True):
            self.decode.submit(replace(order, room=room))
        self.decode.step()
        for room in rooms:
            pages = dict(self.made.pages[room])
            if damage is not None:
                damage(pages)
            self._carry(pages, self.made.targets[room])
            self.decode.start(room, self.made.first[room])
        while self.decode.step():
            pass
        for room in rooms:
            self.decode.release(room, quarantined=False)
        return [self.made.replies.pop(room) for room in rooms]

    def _carry(self, pages: Pages, targets: list[int]) -> None:
        for ordinal, payload in pages.items():
            flat = torch.frombuffer(bytearray(payload), dtype=torch.uint8)
            dispatch.page_unpack(self.decode.cache.pages, targets[ordinal], flat)


def order(random: Random, tokens: int, **more: object) -> Order:
    prompt = tuple(random.randrange(256) for _ in range(tokens))
    return replace(Order(0, "r", prompt, random.randrange(4, 13)), **more)


def mixed_batches(count: int) -> dict[str, object]:
    """The same requests one at a time, and in random batches; the last third is sampled."""
    random = Random(7)
    orders = [
        order(
            random,
            random.randrange(1, 100),
            temperature=0.8 if index > count * 2 // 3 else 0.0,
            seed=index,
        )
        for index in range(count)
    ]
    alone_core = Core(prefixes=False)
    alone = [alone_core.replies([one], alone_core.computed([one]))[0] for one in orders]
    core = Core()
    together: list[list[int]] = []
    while len(together) < count:
        batch = orders[len(together) : len(together) + random.randrange(1, 33)]
        together += core.replies(batch, core.computed(batch))
    core.prefill.prefixes.flush()
    return {
        "alone": alone,
        "together": together,
        "prompt_tokens_computed_by_decode": core.decode.model.prompt_tokens_computed,
        "pages_in_use": core.prefill.pool.used + core.decode.pool.used,
    }


def rounds(count: int) -> dict[str, object]:
    """A conversation: each round's prompt is the last one, its reply, and a little more."""
    random = Random(11)
    replies: dict[bool, list[list[int]]] = {}
    hits: dict[bool, int] = {}
    for prefixes in (False, True):
        core, random = Core(prefixes=prefixes), Random(11)
        replies[prefixes] = []
        asked = order(random, 50, tokens_max=10)
        for _ in range(count):
            reply = core.replies([asked], core.computed([asked]))[0]
            replies[prefixes].append(reply)
            more = tuple(random.randrange(256) for _ in range(20))
            asked = replace(asked, tokens=(*asked.tokens, *reply, *more))
        hits[prefixes] = core.prefill.prefixes.hit_tokens
    return {"without": replies[False], "with": replies[True], "hits": hits[True]}


def damages(count: int) -> dict[str, object]:
    """How often a reply survives one page that is exchanged with another request's, or of
    which one token's keys or values in one layer are inverted.

    (Two pages of the same prompt may change places without any effect: keys carry their
    position with them, and attention does not ask who comes first.)
    """
    random, core = Random(13), Core(prefixes=False)
    survived = {"swap": 0, "flip": 0}
    clean, other = order(random, 1), order(random, 400)
    strange = core.made.pages[core.computed([other])[0]]
    rooms, truth = [0], [0]
    for index in range(count):
        if index % 50 == 0:
            clean = order(random, random.choice((48, 96, 160)), tokens_max=16)
            rooms = core.computed([clean])
            truth = core.replies([clean], rooms)[0]
        kind = ("swap", "flip")[index % 2]
        hurt = core.replies([clean], rooms, _damage(kind, random, strange))[0]
        survived[kind] += hurt == truth
    return {"survived": survived, "of": count}


def _damage(kind: str, random: Random, strange: Pages) -> Damage:
    def swap(pages: Pages) -> None:
        pages[random.choice(sorted(pages))] = strange[random.choice(sorted(strange)[:-1])]

    def flip(pages: Pages) -> None:
        # Not in the last page, whose unused slots nobody reads.
        ordinal = random.choice(sorted(pages)[:-1])
        payload = bytearray(pages[ordinal])
        place = random.randrange(len(payload) // SLOT_BYTES) * SLOT_BYTES
        for at in range(place, place + SLOT_BYTES):
            payload[at] ^= FLIP[at % 4]
        pages[ordinal] = bytes(payload)

    return {"swap": swap, "flip": flip}[kind]


EXPERIMENTS = {"mixed_batches": mixed_batches, "rounds": rounds, "damages": damages}


def run() -> None:
    torch.set_num_threads(1)
    torch.set_grad_enabled(mode=False)
    sys.stdout.write(json.dumps(EXPERIMENTS[sys.argv[1]](int(sys.argv[2]))))


if __name__ == "__main__":
    run()
