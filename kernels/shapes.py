"""The decode launches that are planned, proven and swept: model shapes by name, and their R.

Pure: R comes from the AOT table, so neither a GPU nor Triton is needed to know it.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cache

from kernels.device import gpu
from kernels.golden import resident_ctas
from kernels.splits import COMBINES, Launch

DTYPES = ("bf16", "e4m3")  # of the KV cache


@dataclass(frozen=True, slots=True)
class Shape:
    """One decode kernel with one model's heads."""

    name: str
    model: str
    kernel: str
    configuration: str  # how its rows in the AOT table begin
    heads: int  # query heads on one GPU
    tiles_per_request: int
    block_tokens: int
    width: int  # of a head, or of the latent
    window: int = 0  # > 0: attention is sparse; the last tokens that are read as they are
    ratio: int = 0  # tokens per compressed row
    chosen_max: int = 0  # compressed rows that the indexer chooses at most; 0: all are read

    def launch(self, combine: str, context: int, batch: int) -> Launch:
        """ValueError unless combine, context and batch make a launch."""
        if batch < 1 or context < 1:
            raise ValueError(f"batch {batch} and context {context}: expected at least 1 each")
        rows = (self.rows(context),) * batch if self.window else ()
        return Launch(
            (context,) * batch, self.tiles_per_request, self.block_tokens, combine, self.heads, rows
        )

    def rows(self, context: int) -> int:
        """KV rows that one query reads of a context; never fewer for a longer one."""
        if not self.window:
            return context
        compressed = context // self.ratio
        chosen = min(compressed, self.chosen_max) if self.chosen_max else compressed
        return min(context, self.window) + chosen

    def first_context(self, rows: int, context_max: int) -> int | None:
        """The shortest context of which at least that many rows are read."""
        found = bisect_left(range(context_max + 1), rows, key=self.rows)
        return found if found <= context_max else None

    def row(self, combine: str, dtype: str) -> str:
        """The configuration's name in the AOT table."""
        if combine not in COMBINES:
            raise ValueError(f"combine {combine!r}: choose one of {', '.join(COMBINES)}")
        if dtype not in DTYPES:
            raise ValueError(f"dtype {dtype!r}: choose one of {', '.join(DTYPES)}")
        return f"{self.configuration}-{dtype}-{combine}"

    def residency(self, combine: str, dtype: str, gpu_name: str, reserved_sms: int = 0) -> int:
        """R, less the multiprocessors that something else holds.

        ValueError for an unknown GPU, combine or dtype, or if nothing or less is left.
        """
        card = gpu(gpu_name)
        if not 0 <= reserved_sms <= card.multiprocessors:
            raise ValueError(
                f"reserved SMs: {card.name} has {card.multiprocessors}, not {reserved_sms}"
            )
        all_of_it = _resident_ctas(self.row(combine, dtype), gpu_name)
        return all_of_it // card.multiprocessors * (card.multiprocessors - reserved_sms)


_resident_ctas = cache(resident_ctas)  # which reads a file; a sweep asks a thousand times


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("mla_decode", "DeepSeek-V3", "mla_decode", "mla_decode", 128, 8, 32, 512),
        Shape(
            "mla_decode-tp8", "DeepSeek-V3, one of 8 ranks", "mla_decode", "mla_decode",
            16, 1, 32, 512,
        ),
        *(
            Shape(
                f"v4_decode{ranks}{kind}", f"DeepSeek-V4-Flash, {per}{layers}", "v4_decode",
                "v4_decode", heads, heads // 16, 32, 512, 128, ratio, chosen_max,
            )
            for ranks, per, heads in (("", "", 64), ("-tp4", "one of 4 ranks, ", 16))
            for kind, layers, ratio, chosen_max in (
                ("", "layers at ratio 128", 128, 0),
                ("-topk", "layers at ratio 4", 4, 512),
            )
        ),
        Shape(
            "gqa_decode", "Llama-3-70B", "gqa_decode", "gqa_decode-d128", 64, 8, 64, 128
        ),
        Shape(
            "gqa_decode-d64", "64-wide heads", "gqa_decode", "gqa_decode-d64", 64, 8, 64, 64
        ),
    )
}  # fmt: skip


def shape(name: str) -> Shape:
    """The named shape; ValueError that lists them if there is no such name."""
    if name not in SHAPES:
        raise ValueError(f"unknown kernel {name!r}: choose one of {', '.join(SHAPES)}")
    return SHAPES[name]
