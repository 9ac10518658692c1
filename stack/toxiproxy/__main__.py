"""Runs the embedded server until it is told to stop: `python -m stack.toxiproxy`."""

from __future__ import annotations

import argparse
import asyncio
import resource
import signal
import sys
from random import Random, SystemRandom

from aiohttp import web

from stack.toxiproxy.http_api import HttpApi
from stack.toxiproxy.proxies import Proxies

SHUTDOWN_S = 2.0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stack.toxiproxy", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="where the API listens")
    parser.add_argument("--port", type=int, default=8474, help="where the API listens")
    parser.add_argument("--seed", type=int, help="of toxicity and of random delays")
    return parser.parse_args()


async def serve(host: str, port: int, seed: int) -> None:
    """Until SIGINT or SIGTERM. Raises OSError when the API's address cannot be had."""
    proxies = Proxies(Random(f"{seed}/toxics"))
    runner = web.AppRunner(HttpApi(proxies).application(), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, shutdown_timeout=SHUTDOWN_S).start()
        told = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, told.set)
        await told.wait()
    finally:
        proxies.close()
        await runner.cleanup()


def _allow_many_descriptors() -> None:
    """Each connection takes two; a shell's default of 1,024 is soon used up."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def main() -> int:
    arguments = _arguments()
    _allow_many_descriptors()
    seed = SystemRandom().randrange(1 << 32) if arguments.seed is None else arguments.seed
    try:
        asyncio.run(serve(arguments.host, arguments.port, seed))
    except OSError as error:
        print(
            f"expected {arguments.host}:{arguments.port} free for the API: {error}", file=sys.stderr
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
