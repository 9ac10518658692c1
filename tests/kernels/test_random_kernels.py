"""Random small integer kernels: the prover's reading of the IR against Triton's interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Ask = Callable[[str], dict[str, Any]]


def test_the_ir_computes_what_the_interpreter_computes(answers: Ask) -> None:
    compiled, interpreted = answers("random_compiled.py"), answers("random_interpreted.py")

    assert compiled == interpreted
    assert len({str(values) for values in compiled.values()}) > 30  # they are not all alike
