"""`python -m chaos matrix PATH...`: the stage x fault matrix of many kept histories."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from chaos.commands.bad_input import BadInput
from chaos.commands.history_source import files, load
from chaos.commands.oracles import accusers
from chaos.judge import judge
from chaos.reports.matrix import Judged, judged, list_text, matrix_text


def add(commands: argparse.ArgumentParser) -> None:
    commands.add_argument("paths", type=Path, nargs="+", help="histories, or folders of them")
    commands.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0: all were read and judged; 2: some could not be read, the others are shown."""
    rows: list[Judged] = []
    oracles = accusers()
    unread = 0
    for file in files(arguments.paths):
        try:
            history = load(file)
        except BadInput as problem:
            print(f"matrix: {problem}", file=sys.stderr)
            unread += 1
        else:
            rows += judged(history, judge(history, oracles))
    if rows:
        print(f"{list_text(rows)}\n\n{matrix_text(rows)}")
    return 2 if unread else 0
