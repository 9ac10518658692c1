"""The environment of real SGLang: its version, its pins, what must import."""

from __future__ import annotations

from pathlib import Path

from stack.environments import Environment

SGLANG = Environment(
    engine="sglang",
    version="0.5.23",
    made_for="3.11",
    requirements=Path(__file__).parent / "requirements.txt",
    imports=("torch", "transformers", "zmq", "mooncake.engine"),
    missing=(("libibverbs", "install Debian's package libibverbs1"),),
)
