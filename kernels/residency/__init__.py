"""The prover: compiled kernels, every launch order and every schedule, at most R CTAs at once.

`program` turns Triton IR into a program that keeps only what a wait can depend on, `machine` runs
one CTA of it from one shared access to the next, `states` explores what all of them can do
together, `parts` counts what can wait at the same time, and `judge` says what follows. Memory is
sequentially consistent here, and a CTA is one thread: a missing fence is not seen, except for the
pattern that `fences` names.
"""
