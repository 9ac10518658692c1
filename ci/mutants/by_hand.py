"""Mutations of the kernels, written by hand, and the tests that must notice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutation:
    """One line broken, and the tests that must notice."""

    name: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]


def trial(words: str) -> tuple[str, ...]:
    return ("suites/test_kernels.py", "-k", words)


PTX = ("tests/kernels/test_aot.py", "-k", "handshake and spin_all")
GQA = trial("gqa_decode and bf16 and last_arriver and (masked_tail or mixed_lengths)")
V4 = trial("v4_decode and e4m3 and last_arriver and window_and_chosen")

KERNELS = (
    Mutation(
        "dropped release",
        "kernels/split_merge.py",
        """    if COMBINE == SPIN_ALL:
        tl.atomic_add(counters + tile, 1, sem="release", scope="gpu")""",
        """    if COMBINE == SPIN_ALL:
        tl.atomic_add(counters + tile, 1, sem="relaxed", scope="gpu")""",
        PTX,
    ),
    Mutation(
        "dropped acquire",
        "kernels/split_merge.py",
        'while tl.atomic_add(counter, 0, sem="acquire", scope="gpu") < target:',
        'while tl.atomic_add(counter, 0, sem="relaxed", scope="gpu") < target:',
        PTX,
    ),
    Mutation(
        "dropped clamp",
        "kernels/splits.py",
        "        splits = max(1, min(wanted, residency // launch.tiles))\n",
        "        splits = wanted\n",
        ("tests/kernels/test_clamp.py",),
    ),
    Mutation(
        "dropped mask of the tail",
        "kernels/gqa_decode.py",
        "    scores = tl.where(valid[None, :], scores, MASKED)\n",
        "",
        GQA,
    ),
    Mutation(
        "dropped mask of the tail (mla)",
        "kernels/mla_decode.py",
        "tl.where(valid[None, :], scores * scale_log2e, MASKED)",
        "scores * scale_log2e",
        trial("mla_decode and bf16 and last_arriver and one_rank"),
    ),
    Mutation(
        "dropped causal mask",
        "kernels/prefill_attention.py",
        "(position[None, :] <= place[:, None]) & valid[None, :]",
        "(position[None, :] <= end) & valid[None, :]",
        trial("prefill and bf16 and no_prefix"),
    ),
    Mutation(
        "dropped fp8 scale",
        "kernels/gqa_decode.py",
        "        weights = weights * tl.load(value_scale + at, mask=valid, other=0.0)[None, :]\n",
        "        pass\n",
        trial("gqa_decode and e4m3 and last_arriver and masked_tail"),
    ),
    Mutation(
        "dropped fp8 scale (v4)",
        "kernels/v4_decode.py",
        "        value *= tl.load(scales + group, mask=is_coded, other=0.0)[:, :, None]\n",
        "",
        V4,
    ),
    Mutation(
        "scale of the wrong group (v4)",
        "kernels/v4_decode.py",
        "tl.load(scales + group, mask=is_coded",
        "tl.load(scales + group * 0, mask=is_coded",
        trial("v4_decode and e4m3 and last_arriver and full_width"),
    ),
    Mutation(
        "dropped mask of holes (v4)",
        "kernels/v4_decode.py",
        "    scores = tl.where(exists[None, :], scores, MASKED)\n",
        "",
        trial("v4_decode and bf16 and last_arriver and holes"),
    ),
    Mutation(
        "only half of each block (v4)",
        "kernels/v4_decode.py",
        "range(split * per_split * BLOCK_TOKENS, end, STEP)",
        "range(split * per_split * BLOCK_TOKENS, end, BLOCK_TOKENS)",
        trial("v4_decode and e4m3 and last_arriver and blocks_of_32"),
    ),
    Mutation(
        "wrong LSE merge",
        "kernels/split_merge.py",
        "        weight = tl.exp2(lse - new_peak)\n",
        "        weight = tl.exp2(new_peak - new_peak)\n",
        GQA,
    ),
    Mutation(
        "off by one in the last page",
        "kernels/gqa_decode.py",
        "        valid = position < context\n",
        "        valid = position < context // PAGE * PAGE\n",
        GQA,
    ),
)
