"""`python -m stack.load_generator --parent PID`: plays requests until its standard input ends."""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import os
import signal
import sys
from typing import Final

import aiohttp

from stack.load_generator import wire
from stack.load_generator.commands import Commands
from stack.load_generator.outbox import Outbox

PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h
COMMAND_BYTES_MAX: Final = 1 << 30  # one line holds a whole batch with its prompts


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m stack.load_generator", description=__doc__)
    options.add_argument("--parent", type=int, required=True, help="the pid to die with")
    die_with(options.parse_args().parent)
    gc.freeze()  # the modules live as long as we do: no collection looks at them
    asyncio.run(serve())
    return 0


def die_with(parent: int) -> None:
    """Ask the kernel to kill us when the thread that started us ends."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        raise SystemExit(f"the parent {parent} is gone")


async def serve() -> None:
    loop = asyncio.get_running_loop()
    writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, sys.stdout.buffer)
    reader = asyncio.StreamReader(limit=COMMAND_BYTES_MAX)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    outbox = Outbox(writer)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, force_close=True),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
    ) as session:
        commands = Commands(session, outbox)
        outbox.answer(0, "ready")
        while text := await reader.readline():
            await commands.obey(wire.message(text))


if __name__ == "__main__":
    sys.exit(main())
