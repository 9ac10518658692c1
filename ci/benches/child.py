"""`python -m ci.benches.child ROW EFFORT`: measures one row, alone in its process.

Figures go to standard output, one JSON line each. Interrupted, it takes down what the row started.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from ci.benches.catalogue import named
from ci.benches.effort import Effort, NotMeasured
from ci.benches.promise import Figure


def main(words: list[str]) -> int:
    name, effort_json = words
    effort = Effort(**json.loads(effort_json))
    (row,) = named([name])
    try:
        for figure in row.module.measure(effort):
            print(json.dumps(asdict(figure)), flush=True)
    except NotMeasured as why:
        print(why, file=sys.stderr)
        return 1
    return 0


def figure(line: str) -> Figure:
    """What one line of a child's output says. ValueError: nothing of ours."""
    told = json.loads(line)
    return Figure(told["what"], tuple(told["values"]), told["note"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
