"""`python -m kernels bandwidth`: how fast decode reads its KV, on the GPU that is there.

Against the card's measured copy bandwidth, torch's SDPA, and FlashInfer or flash-attn if installed.
Decode does little else than read KV, so bytes of KV per second is the figure.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from kernels.card import Card, copy_bytes_per_s, present_card, seconds
from kernels.gqa_decode import block_tokens_for, gqa_decode
from kernels.mla_decode import BLOCK_TOKENS, mla_decode
from kernels.peers import Decode, peer_seconds
from kernels.pin import require_pinned_triton
from kernels.split_merge import SplitLaunch
from kernels.splits import Launch, plan

CONTEXTS = (4_096, 32_768, 131_072)
BATCHES = (1, 8, 32)
PAGE, HEADS, KV_HEADS, DIM = 64, 64, 8, 128
MLA_HEADS, LATENT, ROPE = 16, 512, 64
CTAS_PER_MULTIPROCESSOR = 4  # several waves, so that the last one is short
NO_BOUND = 1 << 30  # of residency: `last_arriver` waits for nobody
GOAL, GOAL_CONTEXT = 0.85, 32_768


@dataclass(frozen=True, slots=True)
class Row:
    """One shape: bytes of KV, and seconds for us and for each peer."""

    kernel: str
    context: int
    batch: int
    kv_bytes: int
    ours_s: float
    peers_s: dict[str, float] = field(default_factory=dict[str, float])

    def share(self, copy: float) -> float:
        return self.kv_bytes / self.ours_s / copy

    def judged(self, copy: float) -> str:
        """Only long contexts have a goal: short ones are as fast as a launch is."""
        if self.context < GOAL_CONTEXT:
            return ""
        beaten = [name for name, taken in self.peers_s.items() if taken < self.ours_s]
        if self.share(copy) < GOAL:
            return f"MISSED: below {GOAL:.0%} of copy"
        return f"MISSED: slower than {', '.join(beaten)}" if beaten else "goal met"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, help="write the figures here too, as JSON")


def main(args: argparse.Namespace) -> int:
    """0 when all was measured, whatever it says; ValueError without a GPU."""
    require_pinned_triton()
    card = present_card()
    copy = copy_bytes_per_s()
    say(f"{card}: copy {copy / 1e9:.0f} GB/s")
    rows: list[Row] = []
    for row in measured(card):
        rows.append(row)
        peers = " ".join(f"{name} {taken * 1e6:.0f}" for name, taken in row.peers_s.items())
        say(
            f"{row.kernel:10s} context {row.context:6d} batch {row.batch:2d}: "
            f"{row.ours_s * 1e6:7.0f} us, {row.kv_bytes / row.ours_s / 1e9:6.0f} GB/s, "
            f"{row.share(copy):4.0%} of copy; peers (us): {peers or '-'}  {row.judged(copy)}"
        )
    if args.out:
        figures = {"card": asdict(card), "copy_bytes_per_s": copy, "torch": torch.__version__}
        args.out.write_text(json.dumps({**figures, "rows": [asdict(row) for row in rows]}))
    return 0


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def measured(card: Card) -> Iterator[Row]:
    """Every shape that fits into two fifths of the memory: SDPA needs the KV once more."""
    for context in CONTEXTS:
        for batch in BATCHES:
            gqa_bytes = 2 * batch * context * KV_HEADS * DIM * 2
            if gqa_bytes < 0.4 * card.memory_bytes:
                yield gqa_row(card, context, batch, gqa_bytes)
            else:
                say(f"gqa_decode context {context} batch {batch}: {gqa_bytes} bytes do not fit")
            yield mla_row(card, context, batch)
            torch.cuda.empty_cache()


def splits_for(card: Card, context: int, batch: int, tiles: int, block_tokens: int) -> int:
    wanted = Launch((context,) * batch, tiles, block_tokens, "last_arriver")
    return plan(wanted, card.multiprocessors * CTAS_PER_MULTIPROCESSOR, NO_BOUND).splits


def tables(context: int, batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Shuffled pages, all of one length."""
    width = context // PAGE
    pages = torch.randperm(batch * width, device="cuda").to(torch.int32).view(batch, width)
    lengths = torch.full((batch,), context, dtype=torch.int32, device="cuda")
    return pages.contiguous(), lengths


def gqa_row(card: Card, context: int, batch: int, kv_bytes: int) -> Row:
    shape = (batch * context // PAGE, PAGE, KV_HEADS, DIM)
    keys, values = (torch.randn(shape, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    query = torch.randn((batch, HEADS, DIM), dtype=torch.bfloat16, device="cuda")
    table, lengths = tables(context, batch)
    launch = SplitLaunch(splits_for(card, context, batch, KV_HEADS, block_tokens_for(DIM)))
    ours_s = seconds(lambda: gqa_decode(query, keys, values, table, lengths, launch))
    peers_s = peer_seconds(Decode(query, keys, values, table, lengths))
    return Row("gqa_decode", context, batch, kv_bytes, ours_s, peers_s)


def mla_row(card: Card, context: int, batch: int) -> Row:
    pages = batch * context // PAGE
    latents = torch.randn((pages, PAGE, LATENT), dtype=torch.bfloat16, device="cuda")
    ropes = torch.randn((pages, PAGE, ROPE), dtype=torch.bfloat16, device="cuda")
    query = torch.randn((batch, MLA_HEADS, LATENT), dtype=torch.bfloat16, device="cuda")
    query_rope = torch.randn((batch, MLA_HEADS, ROPE), dtype=torch.bfloat16, device="cuda")
    table, lengths = tables(context, batch)
    launch = SplitLaunch(splits_for(card, context, batch, MLA_HEADS // 16, BLOCK_TOKENS))
    ours_s = seconds(
        lambda: mla_decode(query, query_rope, latents, ropes, table, lengths, launch,
                           softmax_scale=0.07)
    )  # fmt: skip
    return Row("mla_decode", context, batch, batch * context * (LATENT + ROPE) * 2, ours_s)
