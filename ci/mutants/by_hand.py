"""Mutations of the kernels and of their prover, written by hand, and the tests that must notice."""

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

JUDGED = ("tests/kernels/test_judged_ir.py",)
RANDOM = ("tests/kernels/test_random_kernels.py",)

PROVER = (
    Mutation(
        "integers do not wrap",
        "kernels/residency/scalar.py",
        "    return value - (1 << bits) if bits > 1 and value >> (bits - 1) else value",
        "    return value",
        JUDGED,
    ),
    Mutation(
        "a loop's result is cut away",
        "kernels/residency/slicing.py",
        "            return [operation.carried[place + 1][0]]",
        "            return [operation.carried[place + 1][1]]",
        RANDOM,
    ),
    Mutation(
        "what is unknown decides a branch",
        "kernels/residency/machine.py",
        "    if isinstance(condition, Unknown):\n",
        "    if isinstance(condition, Unknown) and not each.place:\n",
        JUDGED,
    ),
    Mutation(
        "a shift by the width is told",
        "kernels/residency/scalar.py",
        "        if not 0 <= unsigned(b, bits) < bits:",
        "        if not 0 <= unsigned(b, bits) < 64:",
        JUDGED,
    ),
    Mutation(
        "assembly that branches is taken for arithmetic",
        "kernels/residency/slicing.py",
        "    return unknown_call or (operation.name == ASSEMBLY and impure)",
        "    return unknown_call",
        JUDGED,
    ),
    Mutation(
        "plain loads in a loop are believed",
        "kernels/residency/fences.py",
        '        and access.order == "plain"',
        '        and access.order == "volatile"',
        JUDGED,
    ),
    Mutation(
        "store buffering is not seen",
        "kernels/residency/fences.py",
        "        if other is not None and written < read and not (strong and other[0]):",
        "        if other is not None and written < read and (strong and other[0]):",
        JUDGED,
    ),
    Mutation(
        "who fits cannot hang",
        "kernels/residency/judge.py",
        "    caught = any(part.traps for part in parts)",
        "    caught = launch.ctas > room and any(part.traps for part in parts)",
        JUDGED,
    ),
    Mutation(
        "a turn that repeats is taken for a deadlock",
        "kernels/residency/traps.py",
        "                closed = False",
        "                closed = True",
        JUDGED,
    ),
    Mutation(
        "only full traps count",
        "kernels/residency/parts.py",
        "            bits |= (1 << trap.waiting_max + 1) - (1 << trap.waiting_min)",
        "            bits |= 1 << trap.waiting_max",
        JUDGED,
    ),
    Mutation(
        "groups that share a cell are not merged",
        "kernels/residency/parts.py",
        "            joined.join(number, writers[slot])",
        "            joined.join(number, number)",
        JUDGED,
    ),
    Mutation(
        "more CTAs than R",
        "kernels/residency/states.py",
        "        return room is not None and state.resident < room and self._has_unstarted(state)",
        "        return room is not None and state.resident <= room and self._has_unstarted(state)",
        JUDGED,
    ),
    Mutation(
        "the upper end of R alone",
        "kernels/prove.py",
        "    for room in range(max(1, case.residency.least), case.residency.most):",
        "    for room in range(case.residency.most, case.residency.most):",
        ("tests/kernels/test_prove.py", "-k", "r_is_a_range"),
    ),
    Mutation(
        "a compare-and-swap that always takes",
        "kernels/residency/atomics.py",
        "        if cell != operands[0]:",
        "        if cell == operands[0]:",
        JUDGED,
    ),
    Mutation(
        "an option that Triton does not know",
        "kernels/unseen.py",
        "    if unknown := sorted(options.keys() - known.keys()):",
        "    if unknown := sorted(known.keys() - known.keys()):",
        ("tests/kernels/test_bad_launches.py", "-k", "checked_against"),
    ),
    Mutation(
        "an out of any shape",
        "kernels/split_merge.py",
        "    if out.shape != query.shape or out.dtype != query.dtype:",
        "    if out.dtype != query.dtype:",
        ("tests/kernels/test_refusals.py", "-k", "every_launcher"),
    ),
    Mutation(
        "a chunk longer than chunk_max",
        "kernels/debug.py",
        "    if longest > chunk_max:",
        "    if longest < chunk_max:",
        ("tests/kernels/test_refusals.py", "-k", "every_launcher"),
    ),
)
