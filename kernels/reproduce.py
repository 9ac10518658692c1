"""`python -m kernels reproduce`: the deadlock on the GPU that is there, safely.

One tile, `spin_all`, and more splits than the card can hold at once: those that are resident wait
for those that never start. Nothing hangs for good: each wait gives up by the GPU's own clock
(`atomic_poll` with a timeout), and the launch runs in a child that is killed if it outlives its
bound. A launch that fits, in the same child, is the control.
"""

import argparse
import subprocess
import sys

CHILD_S_MAX = 90.0
POLL_TIMEOUT_NS = 250_000_000
BLOCKS_MAX = 32  # no architecture holds more CTAs per multiprocessor
HEADS, DIM, PAGE = 8, 64, 64
STUCK, RAN = "gave up waiting", "ran through"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)


def main(args: argparse.Namespace) -> int:
    """0: the large launch got stuck and the small one did not. 1: anything else."""
    if args.child:
        return launch_both()
    command = [sys.executable, "-m", "kernels", "reproduce", "--child"]
    try:
        ended = subprocess.run(command, timeout=CHILD_S_MAX, check=False)  # noqa: S603 - ourselves
    except subprocess.TimeoutExpired:
        sys.stdout.write(f"killed after {CHILD_S_MAX} s: the waits did not give up by themselves\n")
        return 1
    return ended.returncode


def launch_both() -> int:
    """The child's part: a grid that fits, then one that does not."""
    # Here, since the parent must stay able to kill, and needs neither torch nor a GPU.
    from kernels.card import present_card  # noqa: PLC0415 - see above
    from kernels.pin import require_pinned_triton  # noqa: PLC0415 - see above

    require_pinned_triton()
    card = present_card()
    ends: list[str] = []
    for splits in (card.multiprocessors, card.multiprocessors * BLOCKS_MAX + 1):
        ends.append(launched(splits, "cuda"))
        sys.stdout.write(f"{card}: spin_all with {splits} CTAs {ends[-1]}\n")
    return 0 if ends == [RAN, STUCK] else 1


def launched(splits: int, device: str) -> str:
    """One launch; a CTA that gave up leaves its slice of the output as it was, which is NaN."""
    import torch  # noqa: PLC0415 - only the child needs it

    from kernels.gqa_decode import block_tokens_for, gqa_decode  # noqa: PLC0415 - likewise
    from kernels.split_merge import SplitLaunch  # noqa: PLC0415 - likewise

    context = splits * block_tokens_for(DIM)  # a block for each split: none is empty
    pages = context // PAGE
    query = torch.ones((1, HEADS, DIM), dtype=torch.bfloat16, device=device)
    cache = torch.ones((pages, PAGE, 1, DIM), dtype=torch.bfloat16, device=device)
    table = torch.arange(pages, dtype=torch.int32, device=device)[None]
    lengths = torch.tensor([context], dtype=torch.int32, device=device)
    out = torch.full_like(query, torch.nan)
    how = SplitLaunch(splits, "spin_all", poll_timeout_ns=POLL_TIMEOUT_NS)
    gqa_decode(query, cache, cache, table, lengths, how, out=out)
    return STUCK if bool(out.isnan().any()) else RAN
