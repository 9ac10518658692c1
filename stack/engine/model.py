"""A small transformer with random weights whose every token depends on the whole prompt."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from kernels import dispatch
from stack.engine import alphabet
from stack.engine.shape import Shape

_GAIN = 24.0  # how wildly the sine of the feed-forward folds: small differences become large
_END_BIAS = -60.0  # a random model has no reason to stop: it practically never does


@dataclass(frozen=True, slots=True)
class Layer:
    qkv: Tensor  # [hidden, (heads + 2 * kv_heads) * head_dim]
    out: Tensor  # [heads * head_dim, hidden]
    up: Tensor  # [hidden, wide]
    down: Tensor  # [wide, hidden]


class Cache:
    """Paged KV, [pages, layers, 2, page, kv_heads, head_dim]: one page lies in one piece."""

    def __init__(self, shape: Shape, pages: int, page_size: int, device: str = "cpu") -> None:
        self.page_size = page_size
        size = (pages, shape.layers, 2, page_size, shape.kv_heads, shape.head_dim)
        self.pages = torch.zeros(size, device=device)
        self.keys = [self.pages[:, layer, 0] for layer in range(shape.layers)]
        self.values = [self.pages[:, layer, 1] for layer in range(shape.layers)]


class Transformer:
    """Batch-invariant by construction: every sequence is computed alone, and a prompt in
    blocks that begin at page boundaries, so that neither its neighbours nor chunk bounds nor a
    prefix found in the cache can change one bit.

    Attention's output is normalised, so that one page out of a hundred still weighs; the sine
    in the feed-forward folds that difference into other tokens.
    """

    def __init__(self, shape: Shape, seed: int, positions_max: int, device: str = "cpu") -> None:
        self.shape = shape
        self.device = device
        self.prompt_tokens_computed = 0  # a decode's stays 0: it only ever receives prompts
        random = torch.Generator().manual_seed(seed)

        def weights(rows: int, columns: int, scale: float = 1.0) -> Tensor:
            drawn = torch.randn(rows, columns, generator=random)
            return (drawn * (scale * rows**-0.5)).to(device)

        attended = shape.heads * shape.head_dim
        mixed = attended + 2 * shape.kv_heads * shape.head_dim
        self._embedding = torch.randn(alphabet.SIZE, shape.hidden, generator=random).to(device)
        self._layers = [
            Layer(
                weights(shape.hidden, mixed),
                weights(attended, shape.hidden, 3.0),
                weights(shape.hidden, shape.wide, _GAIN),
                weights(shape.wide, shape.hidden, 4.0),
            )
            for _ in range(shape.layers)
        ]
        self._head = weights(shape.hidden, alphabet.SIZE, 4.0)
        self._head_bias = torch.zeros(alphabet.SIZE, device=device)
        self._head_bias[alphabet.END] = _END_BIAS
        # A random vector a position: without it one token can be its own successor for ever.
        self._places = torch.randn(positions_max, shape.hidden, generator=random).to(device)
        rotations = _rotations(shape.head_dim, positions_max)
        self._cosine, self._sine = (table.to(device) for table in rotations)

    def prefill_block(
        self, tokens: list[int], position: int, cache: Cache, table: Tensor
    ) -> Tensor:
        """Compute one page of a prompt; `position` is its first and lies on a page boundary.

        Writes its KV and returns the hidden state [tokens, hidden].
        """
        self.prompt_tokens_computed += len(tokens)
        return self._forward(tokens, position, cache, table)

    def decode(self, token: int, position: int, cache: Cache, table: Tensor) -> Tensor:
        """Compute one token; its KV is written at `position`. Returns logits [vocabulary]."""
        return self.logits(self._forward([token], position, cache, table))

    def logits(self, hidden: Tensor) -> Tensor:
        """Of the last position."""
        return torch.addmv(self._head_bias, self._head.t(), _normal(hidden[-1]))

    def _forward(self, tokens: list[int], position: int, cache: Cache, table: Tensor) -> Tensor:
        page, offset = int(table[position // cache.page_size]), position % cache.page_size
        turn = slice(position, position + len(tokens))
        hidden = self._embedding[tokens] + self._places[turn]
        cosine, sine = self._cosine[turn], self._sine[turn]
        for index, layer in enumerate(self._layers):
            query, key, value = self._projected(layer, hidden, cosine, sine)
            keys, values = cache.keys[index], cache.values[index]
            dispatch.kv_write(key, value, keys, values, page, offset)
            mixed = self._attend(query, keys, values, table, position)
            hidden = torch.addmm(hidden, _normal(mixed), layer.out)
            hidden = torch.addmm(hidden, torch.sin(_normal(hidden) @ layer.up), layer.down)
        return hidden

    def _projected(
        self, layer: Layer, hidden: Tensor, cosine: Tensor, sine: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, [tokens, heads, dim] each.

        Values turn with their position too: a long context then averages to something that
        still tells who stood where, and not to the mean of the vocabulary.
        """
        shape = self.shape
        mixed = (_normal(hidden) @ layer.qkv).view(hidden.shape[0], -1, shape.head_dim)
        turned = _turn(mixed, cosine, sine)
        keys_end = shape.heads + shape.kv_heads
        return turned[:, : shape.heads], turned[:, shape.heads : keys_end], turned[:, keys_end:]

    def _attend(
        self, query: Tensor, keys: Tensor, values: Tensor, table: Tensor, position: int
    ) -> Tensor:
        """[tokens, heads, dim] -> [tokens, heads * dim]."""
        tokens = query.shape[0]
        used = table[: (position + tokens - 1) // keys.shape[1] + 1]
        if tokens == 1:
            mixed = dispatch.paged_decode_attention(query[0], keys, values, used, position + 1)
        else:
            mixed = dispatch.paged_prefill_attention(query, keys, values, used, position)
        return mixed.reshape(tokens, -1)


def _normal(x: Tensor) -> Tensor:
    """Root-mean-square normalisation without a gain."""
    return torch.rms_norm(x, x.shape[-1:], eps=1e-12)


def _turn(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotary position embedding of [tokens, heads, dim] (Su et al. 2021, halves variant)."""
    left, right = x.chunk(2, dim=-1)
    return torch.cat((left * cosine - right * sine, right * cosine + left * sine), dim=-1)


def _rotations(head_dim: int, positions_max: int) -> tuple[Tensor, Tensor]:
    rates = torch.linspace(0.3, 3.0, head_dim // 2, dtype=torch.float64)
    # Fast rotations: the next position looks at quite another mixture of the context.
    angles = torch.arange(positions_max, dtype=torch.float64)[:, None] * rates[None, :]
    return angles.cos().float()[:, None, :], angles.sin().float()[:, None, :]
