"""A run that is meant to be killed: launches the embedded stack and reports how far it came.

`python -P -m tests.stack.doomed ERRAND`: prints one line for each thing that has happened.
"""

from __future__ import annotations

import sys
import time

from stack.drivers.embedded import EmbeddedDriver
from stack.freezer import cgroup_root
from stack.ground import Ground
from stack.plan import Plan

WAIT_S = 60.0  # it is killed long before


def say(what: str) -> None:
    print(what, flush=True)  # noqa: T201 - the parent reads it


def main(errand: str) -> None:
    ground = Ground()
    say(f"guardian {ground.guardian.pid}")
    with EmbeddedDriver(Plan(), ground).launch() as stack:
        say("ready")
        if errand == "frozen":
            by_cgroup = "cgroup" if cgroup_root() else "signal"
            stack.freeze("decode-0", "whole", by_cgroup)
            stack.freeze("prefill-0", "engine", "signal")
            stack.freeze("router", "whole", "signal")
        if errand == "down":
            stack.links["router->prefill-0"].cut().__enter__()
            stack.kill("decode-0")
        say("done")
        time.sleep(WAIT_S)


if __name__ == "__main__":
    main(sys.argv[1])
