"""The command that plays one experiment again, for whoever stands where the run was started."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

OF_PYTEST = ("--rootdir", "-c", "--config-file", "--confcutdir")  # they decide what is found


def reproduction(
    file: Path, test: str, options: Mapping[str, str], words: Sequence[str], here: Path
) -> str:
    """`test` is what stands behind the file in the node id, `options` those of ours that are not
    the default, and `words` what the run's own command line said."""
    where = os.path.relpath(file, here)
    told = [*_of_pytest(words), *(part for pair in options.items() for part in pair)]
    return " ".join(["pytest", _always_quoted(f"{where}::{test}"), *map(shlex.quote, told)])


def _always_quoted(text: str) -> str:
    """Also where a shell does not ask for it today: a test's parameters may be anything."""
    quoted = shlex.quote(text)
    return quoted if quoted != text else f"'{text}'"


def _of_pytest(words: Sequence[str]) -> list[str]:
    """Of pytest's own options those without which it would look elsewhere: `-c FILE`, `-c=FILE`."""
    kept: list[str] = []
    for index, word in enumerate(words):
        if word in OF_PYTEST:
            kept += words[index : index + 2]
        elif word.partition("=")[0] in OF_PYTEST:
            kept.append(word)
    return kept
