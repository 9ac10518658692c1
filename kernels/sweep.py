"""`sweep`: TARGET_CTAS x context x batch x reserved SMs to safe, deadlock or refused.

Pure arithmetic (see splits.py), exact for the shipped kernels; `prove` runs single points of it.
The requests of a batch are equally long here. Then no launch order is worse than in order and
tile-fastest, so that "safe" is safe in every order, which matters: which order a GPU takes is
documented nowhere.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

from kernels import splits
from kernels import zones as zones_of
from kernels.device import GPUS
from kernels.shapes import SHAPES, Shape, shape
from kernels.splits import SplitPlan, Verdict
from kernels.sweep_picture import Panel, picture

TARGETS = "64,128,184,188,256,376,512,1024"
CONTEXTS = "512,1024,2048,4096,6144,8192,9216,16384,32768,131072"
DRAWN_TARGETS = range(8, 641, 8)
DRAWN_CONTEXT_MIN = 256
COLUMNS_DRAWN = 240


@dataclass(frozen=True, slots=True)
class Setting:
    """Everything but the two axes of a table."""

    shape: Shape
    combine: str
    dtype: str
    gpu: str
    batch: int
    reserved_sms: int
    clamp: bool

    @property
    def residency(self) -> int:
        return self.shape.residency(self.combine, self.dtype, self.gpu, self.reserved_sms)

    def plan(self, target: int, context: int) -> SplitPlan:
        launch = self.shape.launch(self.combine, context, self.batch)
        return splits.plan(launch, target, self.residency, clamp=self.clamp)

    def outcome(self, target: int, context: int) -> Verdict:
        return self.plan(target, context).verdict

    def __str__(self) -> str:
        return (
            f"{self.shape.name} ({self.shape.model}), {self.combine}, {self.dtype} KV, {self.gpu}, "
            f"batch {self.batch}, {self.reserved_sms} SMs reserved, R = {self.residency}"
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gpu", default="rtx-pro-6000", help=f"one of {', '.join(GPUS)}")
    parser.add_argument("--kernel", action="append", help=f"{', '.join(SHAPES)}; default: all")
    parser.add_argument("--combine", default="spin_all", help=", ".join(splits.COMBINES))
    parser.add_argument("--dtype", default="bf16", help="of the KV cache: bf16, e4m3")
    parser.add_argument("--target-ctas", default=TARGETS, help="numbers, with commas")
    parser.add_argument("--context", default=CONTEXTS, help="tokens, with commas")
    parser.add_argument("--batch", default="1,4,16", help="requests, with commas")
    parser.add_argument("--reserved-sms", default="0", help="held by others, with commas")
    parser.add_argument("--clamp", action="store_true", help="hold waiting kernels to R, as ours")
    parser.add_argument("--picture", type=Path, help="write an SVG here")


def main(args: argparse.Namespace) -> int:
    """Print the tables and draw the picture. ValueError for what is not supported."""
    targets = [
        splits.target_ctas({splits.TARGET_CTAS: text}, 1) for text in args.target_ctas.split(",")
    ]
    contexts = _numbers("--context", args.context)
    settings = list(_settings(args))
    for setting in settings:
        sys.stdout.write("\n".join(table(setting, targets, contexts)) + "\n\n")
    sys.stdout.write("\n".join(overflows(settings, targets, max(contexts))) + "\n")
    if args.picture is not None:
        panels = [_panel(setting, max(contexts)) for setting in settings]
        args.picture.write_text(picture(panels, f"R on {args.gpu}"), encoding="utf-8")
    return 0


def _numbers(name: str, text: str) -> list[int]:
    if not all(part.isascii() and part.isdecimal() for part in text.split(",")):
        raise ValueError(f"{name}: expected whole numbers with commas, not {text!r}")
    return [int(part) for part in text.split(",")]


def _settings(args: argparse.Namespace) -> Iterator[Setting]:
    shapes = [shape(name) for name in args.kernel or SHAPES]
    batches = _numbers("--batch", args.batch)
    reserved = _numbers("--reserved-sms", args.reserved_sms)
    for each, batch, sms in product(shapes, batches, reserved):
        yield Setting(each, args.combine, args.dtype, args.gpu, batch, sms, args.clamp)


def table(setting: Setting, targets: list[int], contexts: list[int]) -> list[str]:
    """One row per TARGET_CTAS, one column per context, and the exact zones of each row."""
    lines = [str(setting), "  TARGET_CTAS " + "".join(f"{context:>9}" for context in contexts)]
    for target in targets:
        cells = (setting.outcome(target, context) for context in contexts)
        lines.append(f"  {target:>11} " + "".join(f"{cell:>9}" for cell in cells))
    if not setting.clamp:
        lines += _zones(setting, targets, max(contexts))
    return lines


def _zones(setting: Setting, targets: list[int], context_max: int) -> Iterator[str]:
    launch = setting.shape.launch(setting.combine, 1, setting.batch)
    residency, rows_max = setting.residency, setting.shape.rows(context_max)
    for target in targets if residency > 0 else []:
        in_rows = zones_of.deadlock_zones(launch, target, residency, rows_max)
        zones = list(_in_tokens(setting.shape, in_rows, context_max))
        if not zones:
            continue
        spans = ", ".join(f"{first}..{last}" for first, last in zones)
        gaps = [f"{one[1] + 1}..{two[0] - 1}" for one, two in pairwise(zones)]
        between = f"; safe again at {', '.join(gaps)}" if gaps else ""
        yield f"  {target}: deadlocks at contexts {spans}{between}"


def _in_tokens(
    shape: Shape, in_rows: tuple[tuple[int, int], ...], context_max: int
) -> Iterator[tuple[int, int]]:
    """Zones of KV rows as zones of context; they differ where attention is sparse."""
    for first, last in in_rows:
        start = shape.first_context(first, context_max)
        after = shape.first_context(last + 1, context_max)
        if start is not None:
            yield start, context_max if after is None else after - 1


def overflows(settings: list[Setting], targets: list[int], context_max: int) -> Iterator[str]:
    """For each shape and target, the smallest batch and context whose grid exceeds R."""
    batch_max = max(setting.batch for setting in settings)
    limits = f"batch <= {batch_max}, context <= {context_max}"
    yield f"smallest batch, and its shortest context, whose unclamped grid exceeds R ({limits}):"
    seen: set[tuple[str, int]] = set()
    for setting in settings:
        if (setting.shape.name, setting.reserved_sms) in seen:
            continue
        seen.add((setting.shape.name, setting.reserved_sms))
        launch = setting.shape.launch(setting.combine, 1, 1)
        yield f"  {setting.shape.name}, R = {setting.residency}"
        for target in targets:
            first = zones_of.first_overflow(
                launch, target, setting.residency, batch_max=batch_max,
                context_max=setting.shape.rows(context_max),
            )  # fmt: skip
            where = "none does"
            if first is not None:
                context = setting.shape.first_context(first[1], context_max)
                where = f"batch {first[0]}, context {context}"
            yield f"    {splits.TARGET_CTAS}={target}: {where}"


def _panel(setting: Setting, context_max: int) -> Panel:
    contexts = _spaced(context_max, setting.shape.block_tokens)
    rows = {
        target: [setting.outcome(target, context) for context in contexts]
        for target in DRAWN_TARGETS
    }
    title = f"{setting.shape.name} {setting.combine}, batch {setting.batch}, R {setting.residency}"
    return Panel(title, setting.residency, contexts, rows)


def _spaced(context_max: int, block_tokens: int) -> list[int]:
    """Contexts at equal steps of the logarithm, each a whole number of KV blocks."""
    ratio = context_max / DRAWN_CONTEXT_MIN
    raw = (DRAWN_CONTEXT_MIN * ratio ** (i / COLUMNS_DRAWN) for i in range(COLUMNS_DRAWN + 1))
    whole = (-(-int(context) // block_tokens) * block_tokens for context in raw)
    return sorted({min(context, context_max) for context in whole})
