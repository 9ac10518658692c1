"""`python -m kernels COMMAND`.

Exit 0 good, 1 found something, 2 bad usage or no GPU, 70 an error of ours; see also `prove`.
"""

import argparse
import importlib
import sys
import traceback

OUR_ERROR = 70  # EX_SOFTWARE: a traceback must not look like a verdict
COMMANDS = {
    "aot": "compile every shipped kernel without a GPU and compare with the golden table",
    "bandwidth": "measure decode on the GPU that is here, against a copy and against its peers",
    "reproduce": "launch the deadlock on the GPU that is here, bounded by its clock",
    "prove": "prove from the kernel and the launch plan whether a launch deadlocks on a GPU",
    "sweep": "map TARGET_CTAS, context and batch to safe, deadlock or refused",
}


def main(arguments: list[str]) -> int:
    """Run one command; what a user got wrong is one line and exit 2."""
    parser = argparse.ArgumentParser(prog="python -m kernels", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        if name in arguments[:1]:  # the others stay unimported: some of them import Triton
            module = importlib.import_module(f"kernels.{name}")
            module.add_arguments(command)
            command.set_defaults(run=module.main)
    chosen = parser.parse_args(arguments)
    try:
        return int(chosen.run(chosen))
    except ValueError as error:
        print(f"{parser.prog} {chosen.command}: {error}", file=sys.stderr)
        return 2
    except Exception:  # noqa: BLE001 - the interpreter itself would exit with 1, as a deadlock does
        traceback.print_exc()
        return OUR_ERROR


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
