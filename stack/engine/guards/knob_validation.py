"""A knob that is not what its table allows, or that nobody reads, refuses the start."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stack.engine.knobs import GUARDS_OFF, TABLE, BadKnob, Knobs, Value, guards_off
from stack.engine.variables import unread

NAME = "knob_validation"
KNOB = GUARDS_OFF


def read_knobs(environ: Mapping[str, str], warn: Callable[[str], None]) -> Knobs:
    """Raises BadKnob with one clear line. Guard off: warns and takes the default instead.

    This guard has no clock.
    """
    off = guards_off(environ)
    misspelt = unread(environ)
    if misspelt is not None:
        if NAME not in off:
            raise BadKnob(misspelt)
        warn(f"{misspelt}; going on without it")
    values: dict[str, Value] = {}
    for field, knob in TABLE.items():
        text = environ.get(knob.env, "")
        try:
            values[field] = knob.parse(text) if text else knob.default
        except BadKnob as error:
            if NAME not in off:
                raise
            warn(f"{error}; going on with {knob.default!r}")
            values[field] = knob.default
    return Knobs(**values, guards_off=off)  # pyright: ignore[reportArgumentType] - the table's types are the fields' types; a test compares them
