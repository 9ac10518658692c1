"""`python -m stack install ENGINE`: makes a real engine's own environment."""

from __future__ import annotations

import argparse
import sys

from stack.drivers.sglang_cpu.environment import SGLANG
from stack.environments import InstallFailed, install

ENGINES = {environment.engine: environment for environment in (SGLANG,)}


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m stack", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    installing = commands.add_parser("install", help="install a real engine")
    installing.add_argument("engine", choices=sorted(ENGINES))
    chosen = parser.parse_args(words)
    try:
        install(ENGINES[chosen.engine], lambda line: print(line, flush=True))
    except InstallFailed as failed:
        print(f"{chosen.engine} was not installed: {failed}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
