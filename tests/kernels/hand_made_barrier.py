"""A kernel in two phases with a barrier by hand between them: one counter for each block of rows.

Nothing of it is cooperative: whether it ends depends on which CTAs the card starts first.
"""
# ruff: noqa: ANN001, ANN201 - Triton's calling convention is untyped
# pyright: basic, reportMissingTypeStubs=false, reportArgumentType=false, reportCallIssue=false
#   (the bodies are compiled by Triton, which is not what a type checker sees)

import triton
import triton.language as tl


@triton.jit
def reduce_rows(arrived, sums, splits: tl.constexpr, along: tl.constexpr):
    split, block = tl.program_id(along), tl.program_id(1 - along)
    tl.atomic_add(arrived + block, 1, sem="release")
    while tl.atomic_add(arrived + block, 0, sem="acquire") < splits:
        pass
    tl.store(sums + block * splits + split, 1)
