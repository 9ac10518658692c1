"""`python -m ci.benches.stack_starts COUNT`: starts the smallest stack so often, one JSON number
each: the seconds until it answered. The first of a process makes its ground, too."""

from __future__ import annotations

import sys
import time

from stack.drivers.embedded import EmbeddedDriver
from stack.plan import Plan


def main(count: int) -> None:
    for _ in range(count):
        began_s = time.monotonic()
        with EmbeddedDriver(Plan()).launch():
            print(time.monotonic() - began_s, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
