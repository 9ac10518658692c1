"""The oracles by which a kept history is judged: ours, and those that are installed here."""

from __future__ import annotations

from collections.abc import Sequence

from chaos.accusers import everyone
from chaos.commands.bad_input import BadInput
from chaos.oracles.accuser import Accuser


def accusers() -> Sequence[Accuser]:
    """BadInput: what is installed as an oracle is none."""
    try:
        return everyone()
    except (TypeError, ValueError) as error:
        raise BadInput(str(error)) from error
