"""What every kernel must compute, in plain torch: the references.

Slow, obvious, and without a single trick that a kernel uses. `compute` is the precision: float64
is the truth, and what the inputs' own dtype gives differs from it by the rounding noise that a
kernel is allowed.
"""
# ruff: noqa: PLR0913, PLR0917, PLR2004 - a reference takes what its kernel takes, and e4m3 is made of 7s

import torch

Scales = tuple[torch.Tensor, torch.Tensor]


def gather_rows(cache: torch.Tensor, block_table: torch.Tensor, count: int) -> torch.Tensor:
    """The first `count` token rows of one request: cache [pages, page, ...] -> [count, ...]."""
    pages = -(-count // cache.shape[1])
    return cache[block_table[:pages].long()].flatten(0, 1)[:count]


def dequantised(cache: torch.Tensor, scale: torch.Tensor | None,
                compute: torch.dtype) -> torch.Tensor:  # fmt: skip
    """The cache in the computing precision, times its scale per row when it has one."""
    if scale is None:
        return cache.to(compute)
    return (cache.to(torch.float64) * scale[..., None].to(torch.float64)).to(compute)


def attention(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float,
              hidden: torch.Tensor | None = None) -> torch.Tensor:  # fmt: skip
    """Softmax attention: query [heads, m, d], keys [heads, n, d], values [heads, n, e].

    `hidden` [m, n] marks what a query must not see.
    """
    scores = (query @ keys.transpose(-1, -2)) * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    return scores.softmax(-1) @ values


def gqa_decode(query: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor,
               block_table: torch.Tensor, context_lens: torch.Tensor, *,
               scales: Scales | None = None,
               compute: torch.dtype = torch.float64) -> torch.Tensor:  # fmt: skip
    """Shapes as in `gqa_decode.gqa_decode`; a request without context gives zeros."""
    starts = torch.arange(query.shape[0] + 1)
    return prefill_attention(query, key_cache, value_cache, block_table, starts, context_lens,
                             scales=scales, compute=compute)  # fmt: skip


def prefill_attention(query: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor,
                      block_table: torch.Tensor, query_starts: torch.Tensor,
                      context_lens: torch.Tensor, *, scales: Scales | None = None,
                      compute: torch.dtype = torch.float64) -> torch.Tensor:  # fmt: skip
    """Shapes as in `prefill_attention.prefill_attention`; query t of a chunk sees up to itself."""
    keys = dequantised(key_cache, scales[0] if scales else None, compute)
    values = dequantised(value_cache, scales[1] if scales else None, compute)
    group = query.shape[1] // key_cache.shape[2]
    out = torch.zeros(query.shape, dtype=compute, device=query.device)
    for request in range(context_lens.numel()):
        context = int(context_lens[request])
        start, end = int(query_starts[request]), int(query_starts[request + 1])
        if context == 0 or start == end:
            continue
        key = gather_rows(keys, block_table[request], context).repeat_interleave(group, 1)
        value = gather_rows(values, block_table[request], context).repeat_interleave(group, 1)
        places = torch.arange(context - (end - start), context, device=query.device)
        hidden = torch.arange(context, device=query.device)[None, :] > places[:, None]
        heads = query[start:end].to(compute).transpose(0, 1)
        mixed = attention(heads, key.transpose(0, 1), value.transpose(0, 1),
                          query.shape[-1] ** -0.5, hidden)  # fmt: skip
        out[start:end] = mixed.transpose(0, 1)
    return out


def mla_decode(query: torch.Tensor, query_rope: torch.Tensor, latent_cache: torch.Tensor,
               rope_cache: torch.Tensor, block_table: torch.Tensor, context_lens: torch.Tensor,
               *, softmax_scale: float, latent_scale: torch.Tensor | None = None,
               compute: torch.dtype = torch.float64) -> torch.Tensor:  # fmt: skip
    """Shapes as in `mla_decode.mla_decode`; a request without context gives zeros."""
    latents = dequantised(latent_cache, latent_scale, compute)
    out = torch.zeros(query.shape, dtype=compute, device=query.device)
    asked = torch.cat([query, query_rope], -1).to(compute)
    for request in range(query.shape[0]):
        context = int(context_lens[request])
        if context == 0:
            continue
        latent = gather_rows(latents, block_table[request], context)
        rope_rows = gather_rows(rope_cache, block_table[request], context).to(compute)
        keys = torch.cat([latent, rope_rows], -1)
        out[request] = attention(asked[request], keys, latent, softmax_scale)
    return out


def v4_decode(query: torch.Tensor, window_cache: torch.Tensor, compressed_cache: torch.Tensor,
              block_table: torch.Tensor, context_lens: torch.Tensor, chosen: torch.Tensor,
              chosen_counts: torch.Tensor, sinks: torch.Tensor, *, softmax_scale: float,
              window: int, compute: torch.dtype = torch.float64) -> torch.Tensor:  # fmt: skip
    """Shapes as in `v4_decode.v4_decode`; the sink is a key whose value is zero.

    A quantised cache is given as what `whole_rows` makes of it.
    """
    out = torch.zeros(query.shape, dtype=compute, device=query.device)
    for request in range(query.shape[0]):
        context = int(context_lens[request])
        near = gather_rows(window_cache, block_table[request], context)[max(0, context - window) :]
        indices = chosen[request, : int(chosen_counts[request])]
        far = compressed_cache[indices[indices >= 0].long()]
        rows = torch.cat([near, far]).to(compute)
        scores = (query[request].to(compute) @ rows.T) * softmax_scale
        weights = torch.cat([scores, sinks[:, None].to(compute)], 1).softmax(-1)
        out[request] = weights[:, :-1] @ rows
    return out


def whole_rows(latents: torch.Tensor, ropes: torch.Tensor, scales: torch.Tensor,
               compute: torch.dtype = torch.float64) -> torch.Tensor:  # fmt: skip
    """The rows of a `v4_decode.QuantisedRows` in the computing precision: [..., latent]."""
    groups = latents.to(torch.float64).view(*scales.shape, -1)
    coded = (groups * scales[..., None].to(torch.float64)).flatten(-2)
    return torch.cat([coded.to(compute), ropes.to(compute)], -1)


def kv_write(rows: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor,
             scales: torch.Tensor | None = None) -> None:  # fmt: skip
    """Shapes as in `kv_write.kv_write`; writes in place."""
    kept = slots >= 0
    chosen = slots[kept].long()
    values = rows[kept]
    if scales is not None:
        wide = values.float()
        scale = (wide.abs().amax(-1) / 448.0).clamp_min(1e-12)
        scales.view(-1, scales.shape[-1])[chosen] = scale
        codes = encode_e4m3(wide / scale[..., None])
        cache.view(torch.uint8).view(-1, *cache.shape[2:])[chosen] = codes
    else:
        cache.view(-1, *cache.shape[2:])[chosen] = values.to(cache.dtype)


def decode_e4m3(codes: torch.Tensor) -> torch.Tensor:
    """What each of the 256 codes means, float32: 1 sign, 4 exponent (bias 7), 3 mantissa bits.

    There are no infinities; 0x7F and 0xFF are not a number (OCP 8-bit floating point, 1.0).
    """
    bits = codes.to(torch.int32)
    exponent = (bits >> 3) & 15
    mantissa = (bits & 7).float()
    normal = (1 + mantissa / 8) * torch.exp2((exponent - 7).float())
    size = torch.where(exponent == 0, mantissa / 8 * 2.0**-6, normal)
    size = torch.where((bits & 127) == 127, torch.nan, size)
    return torch.where(bits >= 128, -size, size)


def encode_e4m3(values: torch.Tensor) -> torch.Tensor:
    """The nearest code of each float32, ties to the even code, saturating at 448; uint8.

    Found by looking at all of the codes: nothing here shares arithmetic with a conversion.
    """
    ladder = decode_e4m3(torch.arange(127, device=values.device))  # the sizes, in order
    size = values.abs().clamp_max(448.0)
    upper = torch.searchsorted(ladder, size.contiguous()).clamp(0, 126)
    lower = (upper - 1).clamp_min(0)
    up, down = ladder[upper].double() - size, size - ladder[lower].double()
    takes_lower = (down < up) | ((down == up) & (lower % 2 == 0))
    code = torch.where(takes_lower, lower, upper)
    code = torch.where(values.isnan(), 127, code)
    return (code + 128 * values.signbit()).to(torch.uint8)


def page_checksums(words: torch.Tensor) -> torch.Tensor:
    """Sum of words [pages, n] int32, each times 2i + 1, modulo 2**32: int32 [pages]."""
    wide = words.to(torch.int64) & 0xFFFFFFFF
    weights = torch.arange(words.shape[1], device=words.device) * 2 + 1
    total = ((wide * weights) & 0xFFFFFFFF).sum(1) & 0xFFFFFFFF
    return torch.where(total >= 2**31, total - 2**32, total).to(torch.int32)


def rmsnorm(rows: torch.Tensor, weight: torch.Tensor, epsilon: float,
            compute: torch.dtype = torch.float64) -> torch.Tensor:  # fmt: skip
    wide = rows.to(compute)
    return wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon) * weight.to(compute)


def rope(rows: torch.Tensor, positions: torch.Tensor, table: torch.Tensor,
         compute: torch.dtype = torch.float64) -> torch.Tensor:  # fmt: skip
    """The turned rows; the kernel does it in place."""
    half = rows.shape[-1] // 2
    turn = table[positions.long()][:, None].to(compute)
    cosine, sine = turn[..., :half], turn[..., half:]
    low, high = rows[..., :half].to(compute), rows[..., half:].to(compute)
    return torch.cat([low * cosine - high * sine, high * cosine + low * sine], -1)


def philox(seeds: torch.Tensor, counters: list[torch.Tensor], rounds: int = 10) -> torch.Tensor:
    """The first of four words of Philox4x32 (Salmon and others, 2011), in int64: 0 to 2**32 - 1."""
    mask = 0xFFFFFFFF
    key0, key1 = seeds & mask, (seeds >> 32) & mask
    c0, c1, c2, c3 = counters
    for _ in range(rounds):
        high0, low0 = _multiply(c0, 0xD2511F53)
        high2, low2 = _multiply(c2, 0xCD9E8D57)
        c0, c1, c2, c3 = high2 ^ c1 ^ key0, low2, high0 ^ c3 ^ key1, low0
        key0, key1 = (key0 + 0x9E3779B9) & mask, (key1 + 0xBB67AE85) & mask
    return c0


def _multiply(word: torch.Tensor, factor: int) -> tuple[torch.Tensor, torch.Tensor]:
    """High and low half of a 32 by 32 bit product, within int64."""
    low = word * (factor & 0xFFFF)
    high = word * (factor >> 16) + (low >> 16)
    return high >> 16, ((high & 0xFFFF) << 16) | (low & 0xFFFF)


def noisy_logits(logits: torch.Tensor, seeds: torch.Tensor, positions: torch.Tensor,
                 temperatures: torch.Tensor) -> torch.Tensor:  # fmt: skip
    """logits / temperature plus the Gumbel noise of each token; a draw is the largest of a row."""
    tokens = torch.arange(logits.shape[1], device=logits.device).expand(logits.shape)
    position = positions.long()[:, None].expand(logits.shape)
    zero = torch.zeros_like(tokens)
    word = philox(seeds[:, None].expand(logits.shape), [tokens, position, zero, zero])
    signed = torch.where(word >= 2**31, word - 2**32, word)
    positive = torch.where(signed < 0, -signed - 1, signed)
    uniform = positive.double() * 4.6566127342e-10  # Triton's own step, a little below 2**-31
    return logits.double() / temperatures.double()[:, None] - torch.log(-torch.log(uniform))
