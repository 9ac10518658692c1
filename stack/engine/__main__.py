"""`python -P -m stack.engine --config FILE`: one worker, until it is told to stop."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from stack.engine.config import WorkerConfig
from stack.engine.worker import main


def run() -> None:
    parser = argparse.ArgumentParser(prog="stack.engine", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="a WorkerConfig as JSON")
    path: Path = parser.parse_args().config
    try:
        config = WorkerConfig.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        sys.exit(f"{path}: {error}")
    main(config)


if __name__ == "__main__":
    run()
