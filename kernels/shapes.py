"""The decode launches that are planned, proven and swept: model shapes by name, and their R.

Pure: R comes from the AOT table, so neither a GPU nor Triton is needed to know it.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cache

from kernels.device import Gpu, gpu
from kernels.golden import resident_ctas, resident_least
from kernels.splits import COMBINES, Launch

DTYPES = ("bf16", "e4m3")  # of the KV cache
BATCH_MAX = 65_536  # far above any decode batch; catches a typo of extra digits
CONTEXT_MAX = (1 << 31) - 1


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
        if batch > BATCH_MAX or context > CONTEXT_MAX:
            raise ValueError(
                f"batch {batch} and context {context}: at most {BATCH_MAX} requests, and "
                f"{CONTEXT_MAX} tokens, as lengths are int32"
            )
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
        return self.residency_range(combine, dtype, gpu_name, reserved_sms)[1]

    def residency_range(
        self, combine: str, dtype: str, gpu_name: str, reserved_sms: int = 0
    ) -> tuple[int, int]:
        """The least and the most that R can be: the driver may choose a smaller carve-out."""
        card = gpu(gpu_name)
        require_reserved(card, reserved_sms)
        row, left = self.row(combine, dtype), card.multiprocessors - reserved_sms
        least, most = _resident_least(row, gpu_name), _resident_ctas(row, gpu_name)
        return least // card.multiprocessors * left, most // card.multiprocessors * left


# Both read a file; a sweep asks a thousand times.
_resident_ctas = cache(resident_ctas)
_resident_least = cache(resident_least)


def require_reserved(card: Gpu, reserved_sms: int) -> None:
    """ValueError unless the card has as many multiprocessors."""
    if not 0 <= reserved_sms <= card.multiprocessors:
        raise ValueError(
            f"reserved SMs: expected 0 to {card.multiprocessors}, as {card.name} has "
            f"{card.multiprocessors}, not {reserved_sms}"
        )


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
