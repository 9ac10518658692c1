"""What a command line of pytest's selects: the whole of which folders, or a part."""

from __future__ import annotations

from pathlib import Path

import pytest

# Options that leave tests out; those of plugins that are not there do not exist.
NARROW = (
    "keyword",
    "markexpr",
    "deselect",
    "ignore",
    "ignore_glob",
    "lf",
    "stepwise",
    "collectonly",
    "setuponly",
    "setupplan",
)


def whole_folders(config: pytest.Config) -> tuple[Path, ...]:
    """The folders of which every test is to be run; none where something was left out."""
    if any(getattr(config.option, name, None) for name in NARROW):
        return ()
    here = config.invocation_params.dir
    places = (here / arg for arg in config.args if "::" not in arg)
    return tuple(one.resolve() for one in places if one.is_dir())
