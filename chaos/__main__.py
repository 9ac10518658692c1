"""`python -m chaos`: what can be done without pytest. Exit 2 and one clear line for bad input."""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from collections.abc import Sequence
from importlib import import_module

from chaos.commands.bad_input import BadInput

# The command, the module that does it, and its line of help. A module is imported when it is
# asked for: judging a history must not need what starting a stack needs.
COMMANDS = {
    "doctor": ("chaos.commands.doctor", "what this machine has, what is missing, how to get it"),
    "up": ("chaos.commands.up", "an embedded stack in the foreground, until a signal ends it"),
    "judge": ("chaos.commands.judge_file", "the verdicts of a kept history, without a stack"),
    "matrix": ("chaos.commands.matrix", "the stage x fault matrix of many kept histories"),
}


def main(words: Sequence[str]) -> int:
    command = next((word for word in words if not word.startswith("-")), "")
    try:
        arguments = _parsed(command, words)
        return int(arguments.run(arguments))
    except BadInput as problem:
        print(f"chaos {command}: {problem}".replace(" :", ":"), file=sys.stderr)
        return 2


def _parsed(command: str, words: Sequence[str]) -> argparse.Namespace:
    """argparse, but with its complaint as our one line. --help ends the process as usual."""
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (module, line) in COMMANDS.items():
        under = commands.add_parser(name, help=line, description=line)
        if name == command:
            import_module(module).add(under)
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return parser.parse_args(words)
    except SystemExit as end:
        if not end.code:
            raise
        last = complaint.getvalue().strip().splitlines()[-1]
        raise BadInput(last.partition("error: ")[2] or last) from end


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
