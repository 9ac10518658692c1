"""Where randomness comes from: one seed, and a source of its own for every purpose.

Adding a consumer never reshuffles what another one draws, because a source depends on nothing
but the seed and its purpose's name.
"""

from __future__ import annotations

from random import Random


def source(seed: int, purpose: str) -> Random:
    """The randomness of one consumer: "workload", "strike/2", "schedule".

    Python seeds a Random from a text by SHA-512, the same on every machine and version >= 3.2.
    """
    if not purpose:
        raise ValueError("randomness needs a purpose: two consumers must never share a source")
    return Random(f"{seed}/{purpose}")
