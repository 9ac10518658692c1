"""Random small integer kernels, for two ways to run them: compiled IR, and Triton's interpreter."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from random import Random
from types import ModuleType

KERNELS = 40
OUTS = 3
_HEAD = "import triton\nimport triton.language as tl\n"
_BINARY = ("({} + {})", "({} - {})", "({} * {})", "({} & {})", "({} | {})", "({} ^ {})",
           "tl.minimum({}, {})", "tl.maximum({}, {})", "tl.where({} < {}, a, b)",
           "tl.where({} == {}, b, c)")  # fmt: skip
_UNARY = ("({} // {})", "({} % {})", "({} << {})", "({} >> {})")
_CASTS = ("int8", "int16", "uint8", "uint32", "int64")


def arguments(number: int) -> tuple[int, int, int]:
    """Three int32, none of them 1, which Triton takes for a constant."""
    source = Random(f"{number}/arguments")
    a, b, c = (source.choice((source.randint(-9, 0), source.randint(2, 1 << 31) - 1 << 0,
                              source.randint(-(1 << 31), -2))) for _ in range(3))  # fmt: skip
    return a, b, max(c, 2) if c == 1 else c


def _expression(source: Random, depth: int) -> str:
    if depth == 0:
        return source.choice(("a", "b", "c", "x", "y"))
    inner = _expression(source, depth - 1)
    kind = source.random()
    if kind < 0.55:
        return source.choice(_BINARY).format(inner, _expression(source, depth - 1))
    if kind < 0.75:
        form = source.choice(_UNARY)
        return form.format(inner, source.randint(2, 31))
    return f"{inner}.to(tl.{source.choice(_CASTS)}).to(tl.int32)"


def _kernel(number: int) -> str:
    source = Random(f"{number}/kernel")
    lines = [
        "@triton.jit",
        f"def k{number}(out, counter, a, b, c):",
        "    a = tl.load(counter) + a",
        "    b = tl.load(counter) + b",
        "    c = tl.load(counter) + c",
        "    x = a ^ c",
        "    y = b",
        f"    for i in range(0, {source.randint(1, 5)}):",
        f"        x = {_expression(source, 3)} + i",
        f"        if ({_expression(source, 2)}) {source.choice('<>')} y:",
        f"            y = {_expression(source, 3)}",
        "        else:",
        f"            y = y + {_expression(source, 1)}",
        f"    tl.store(out, {_expression(source, 3)})",
        "    tl.store(out + 1, x)",
        "    tl.store(out + 2, tl.atomic_add(counter, y) + y)",
        "    tl.atomic_max(counter, x)",
        "    tl.atomic_xor(counter, a)",
    ]
    return "\n".join(lines) + "\n"


def module() -> ModuleType:
    """All of them, in a file of their own, as Triton reads sources."""
    path = Path(tempfile.mkdtemp(prefix="pdchaos-random-")) / "kernels.py"
    path.write_text(_HEAD + "\n\n".join(_kernel(number) for number in range(KERNELS)))
    spec = importlib.util.spec_from_file_location("random_sources", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found
