"""Which link a fault hits, which way its payload flows, and which stage it serves."""

from __future__ import annotations

import re
from collections.abc import Iterable
from random import Random

from chaos.contracts import Linked, Stack
from chaos.stage import Stage

DIRECTIONS = ("upstream", "downstream")
_NUMBER = re.compile(r"-\d+$")
_NUMBER_INSIDE = re.compile(r"-\d+(?=->|/|$)")
_ROUTES = frozenset(
    {"client->router", "router->prefill", "router->decode", "decode->prefill/bootstrap"}
    | {"prefill->decode/kv"}
)
# What the near end writes into; over every other link the payload is the answer that comes back.
_WRITTEN = ("/kv", "/bootstrap")


def choose_link(links: Iterable[str], wanted: str, rng: Random) -> str:
    """ "prefill-0->decode-1/kv" is that link; with a role in place of a name, one of those that
    fit. ValueError when none does.
    """
    known = sorted(links)
    if wanted in known:
        return wanted
    fitting = [name for name in known if _fits(wanted, name)]
    if not fitting:
        raise ValueError(f"no link {wanted!r} in this stack; it has {', '.join(known) or 'none'}")
    return rng.choice(fitting)


def lacks_link(stack: Stack, wanted: str) -> str | None:
    """ "no link prefill->decode/kv" where this stack has none that fits: an engine that chooses
    its ports by itself keeps that connection to itself. A misspelt name fits no stack at all.
    """
    if not isinstance(stack, Linked) or any(_fits(wanted, name) for name in stack.links):
        return None
    known = _ROUTES | {_NUMBER_INSIDE.sub("", name) for name in stack.links}
    return f"no link {wanted}" if _NUMBER_INSIDE.sub("", wanted) in known else None


def payload_stream(link: str) -> str:
    """The direction in which a link carries what it is there for."""
    return "upstream" if link.endswith(_WRITTEN) else "downstream"


def stage_of_link(link: str, stream: str) -> Stage:
    """The stage that waits when this direction of the link does not work."""
    if link.endswith("/kv"):
        return Stage.TRANSFER
    if link.endswith("/bootstrap"):
        return Stage.BOOTSTRAP
    if link.startswith("client"):
        return Stage.STREAM if stream == "downstream" else Stage.CLIENT
    return Stage.DISPATCH


def _fits(wanted: str, name: str) -> bool:
    wanted_ends, ends = _ends(wanted), _ends(name)
    return len(wanted_ends) == len(ends) and all(
        want in {end, _NUMBER.sub("", end)} for want, end in zip(wanted_ends, ends, strict=True)
    )


def _ends(link: str) -> list[str]:
    """ "prefill-0->decode-1/kv" is prefill-0, decode-1, kv."""
    return re.split(r"->|/", link)
