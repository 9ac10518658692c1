"""`python -m chaos doctor`: what this machine has, what is missing, and how to get it."""

from __future__ import annotations

import argparse
import os

from chaos.commands.bad_input import BadInput
from chaos.commands.symptom import SYMPTOMS, Symptom


def add(commands: argparse.ArgumentParser) -> None:
    commands.add_argument(
        "--require",
        default=os.environ.get("PDCHAOS_REQUIRE", ""),
        help="what else must be here, by name and comma; the default is $PDCHAOS_REQUIRE",
    )
    commands.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0: everything that is required is here; 1: it is not."""
    required = {name.strip() for name in arguments.require.split(",") if name.strip()}
    unknown = required - {symptom.name for symptom in SYMPTOMS}
    if unknown:
        known = ", ".join(symptom.name for symptom in SYMPTOMS)
        raise BadInput(f"--require: nothing is called {', '.join(sorted(unknown))}; known: {known}")
    missing = [_told(one, required=one.required or one.name in required) for one in SYMPTOMS]
    return 1 if any(missing) else 0


def _told(symptom: Symptom, *, required: bool) -> bool:
    """Prints one line; True when something required is missing."""
    found = symptom.look()
    state = "ok" if found else ("MISSING" if required else "absent")
    print(f"{state:<8} {symptom.name:<16} {found or symptom.cure}")
    return required and not found
