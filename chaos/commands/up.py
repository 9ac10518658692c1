"""`python -m chaos up`: an embedded stack in the foreground, until a signal ends it."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from threading import Event
from types import FrameType

from chaos.commands.bad_input import BadInput
from chaos.contracts import Guard, Stack
from stack.bounded_toxiproxy import ToxiproxyRefused, ToxiproxySilent
from stack.drivers.embedded import EmbeddedDriver
from stack.node_process import NodeFailed
from stack.plan import ROUTERS, Plan, Topology
from stack.ports import NoPorts

WAIT_SLICE_S = 1.0
SIGNALS = (signal.SIGINT, signal.SIGTERM)
CANNOT_START = (NodeFailed, NoPorts, ToxiproxyRefused, ToxiproxySilent)


class Ended(Exception):
    """A signal asked for the end. It unwinds what has been started, however far that got."""


def add(commands: argparse.ArgumentParser) -> None:
    commands.add_argument("--topology", default="1p1d", help="workers, such as 1p1d or 2p2d")
    commands.add_argument("--router", default=ROUTERS[0], help=f"one of {', '.join(ROUTERS)}")
    commands.add_argument("--seed", default="0", help="of the model's weights; a whole number")
    commands.add_argument("--guards-off", default="", help="names, separated by commas")
    commands.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0 after a signal; 1 where something did not start, with its last words.

    BadInput also for an environment that cannot be used: PDCHAOS_PORTS, TOXIPROXY_URL, TMPDIR.
    """
    driver = EmbeddedDriver(_plan(arguments))
    try:
        with _ending_by_signal(), driver.launch() as stack:
            _tell(stack)
            while not Event().wait(WAIT_SLICE_S):
                pass
    except Ended:
        print("down", flush=True)
    except ValueError as error:
        raise BadInput(str(error)) from error
    except CANNOT_START as failed:
        print(f"chaos up: {failed}", file=sys.stderr)
        return 1
    return 0


def _plan(arguments: argparse.Namespace) -> Plan:
    try:
        return Plan(
            topology=Topology.parse(arguments.topology),
            router=arguments.router,
            seed=int(arguments.seed),
            guards_off=frozenset(filter(None, arguments.guards_off.split(","))),
        )
    except ValueError as error:
        raise BadInput(str(error)) from error


def _tell(stack: Stack) -> None:
    print(f"{stack.name}\n  clients  {stack.url}")
    for node in stack.nodes:
        print(f"  {node.role:<8} {node.url}  {node.name}")
    for node in stack.nodes:
        if node.role != "router":  # its page stands on a port of its own
            print(f"  metrics  {node.url}/metrics  {node.name}")
    for guard in stack.guards.values():
        print(f"  guard    {_state(guard)}")
    print("up; ctrl-C ends it", flush=True)


def _state(guard: Guard) -> str:
    if not guard.on:
        return f"{guard.name}: OFF"
    setting = f", {guard.knob}={guard.value}" if guard.knob else ""
    return f"{guard.name}: ends a request in {guard.budget_s:g} s{setting}"


@contextmanager
def _ending_by_signal() -> Generator[None, None, None]:
    """The first SIGINT or SIGTERM raises Ended in the main thread; later ones are told off."""
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def again(_number: int, _frame: FrameType | None) -> None:
        print("already ending", file=sys.stderr, flush=True)

    def end(_number: int, _frame: FrameType | None) -> None:
        for number in SIGNALS:
            signal.signal(number, again)
        raise Ended

    for number in SIGNALS:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
