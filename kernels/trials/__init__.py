"""Trials of the kernels: each runs one kernel on one odd shape and compares with its reference.

They run in a child process (`child.py`), in the interpreter on a CPU and natively on a GPU.
"""
