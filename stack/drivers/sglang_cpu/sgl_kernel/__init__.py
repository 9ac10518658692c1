"""Stands in for the wheel of the same name, which has no CPU build that can be had.

SGLang imports two of its symbols without asking whether they are there when it runs on a CPU
(SGLANG_USE_CPU_ENGINE=1). Everything else in it is reached only with AMX, which SGLang takes
only where this module registers torch operators; it registers none.
"""

__version__ = "0.4.10"  # SGLang compares it with the version it was built against


def assign_req_to_token_pool_cpu(
    req_pool_indices,
    req_to_token,
    start_offset,
    end_offset,
    out_cache_loc,
    pool_len,  # noqa: ARG001 - the wheel's signature
):
    """Write each request's new cache slots into its row of the request-to-token table.

    Shapes: req_pool_indices, start_offset, end_offset [B]; req_to_token [rows, pool_len];
    out_cache_loc [sum(end - start)].
    """
    taken = 0
    spans = zip(req_pool_indices.tolist(), start_offset.tolist(), end_offset.tolist(), strict=True)
    for row, start, end in spans:
        count = end - start
        slots = out_cache_loc[taken : taken + count]
        req_to_token[row, start:end] = slots.to(req_to_token.dtype)
        taken += count


def copy_all_layer_kv_cache_cpu(data_ptrs, strides, tgt_loc, src_loc):
    raise NotImplementedError("moving KV cache between slots is not needed by our launch lines")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def absent(*_args, **_kwargs):
        raise NotImplementedError(f"sgl_kernel.{name} has no CPU stand-in")

    return absent
