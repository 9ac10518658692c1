"""Trials of what fills, quantises and moves KV pages: bit for bit or not at all."""

import torch

from kernels import reference
from kernels.kv_write import kv_write
from kernels.page_pack import as_words, pack_pages, page_bytes, unpack_pages
from kernels.trials.outcome import Outcome, exactly, worst
from kernels.trials.paged import E4M3, Source

PAGES, PAGE, HEADS = 5, 3, 3
POISON = 0x55


def fresh(source: Source, dtype: torch.dtype, dim: int) -> torch.Tensor:
    """A cache in which every byte is known, so that a stray write is seen.

    [pages, 2, page, heads, dim]: the kernel is given the second half of each page.
    """
    item = torch.empty((), dtype=dtype).element_size()
    size = (PAGES, 2, PAGE, HEADS, dim * item)
    return torch.full(size, POISON, dtype=torch.uint8, device=source.device).view(dtype)


def write(name: str, device: str, dim: int, dtype: torch.dtype) -> Outcome:
    """Five rows, one of them padding, into scattered slots."""
    source = Source(name, device)
    rows = source.normal(5, HEADS, dim, dtype=torch.bfloat16)
    rows[3] = 0  # a row of zeros has no largest value to scale by
    slots = source.integers(14, 0, -1, 7, 5)
    caches = [fresh(source, dtype, dim) for _ in range(2)]
    scales: list[torch.Tensor | None] = [None, None]
    if dtype == E4M3:
        scales = [torch.full((PAGES, PAGE, HEADS), 9.0, device=device) for _ in range(2)]
    kv_write(rows, caches[0][:, 1], slots, scales[0])
    written = caches[1][:, 1].contiguous()
    reference.kv_write(rows, written, slots, scales[1])
    caches[1][:, 1] = written
    found = [exactly(*caches)]
    if scales[0] is not None and scales[1] is not None:
        found.append(exactly(scales[0], scales[1]))
    return worst(found)


def every_code(name: str, device: str) -> Outcome:
    """All finite e4m3 codes, written by the kernel from their float32 meaning and back.

    448 leads each row, so that its scale is one; halves between codes must go to the even one.
    """
    source = Source(name, device)
    ladder = reference.decode_e4m3(torch.arange(127))
    between = (ladder[1:] + ladder[:-1]) / 2
    sizes = torch.cat([ladder.flip(0), between])
    rows = torch.stack([sizes, -sizes]).view(2, 1, -1).to(device)
    cache = torch.zeros((1, 2, 1, rows.shape[-1]), dtype=torch.uint8, device=device).view(E4M3)
    scales = torch.zeros((1, 2, 1), device=device)
    kv_write(rows.contiguous(), cache, source.integers(0, 1), scales)
    return worst(
        [
            exactly(cache.view(torch.uint8).view(2, -1), reference.encode_e4m3(rows.view(2, -1))),
            exactly(scales, torch.ones_like(scales)),
        ]
    )


def pack(name: str, device: str, page_values: int) -> Outcome:
    """Three pages out of a cache, with checksums, and into other pages of another cache."""
    source = Source(name, device)
    cache = source.normal(6, page_values, dtype=torch.bfloat16)
    pages = source.integers(4, 0, 5)
    buffer, checksums = pack_pages(cache, pages)
    words = cache[pages.long()].contiguous().view(torch.int32)
    target = torch.zeros_like(cache)
    unpacked = unpack_pages(target, source.integers(1, 2, 3), buffer)
    expected = torch.zeros_like(cache)
    expected[1:4] = cache[pages.long()]
    sums = reference.page_checksums(words)
    return worst(
        [
            exactly(buffer.view(-1), cache[pages.long()].view(torch.uint8).view(-1)),
            exactly(target, expected),
            exactly(checksums, sums),
            exactly(unpacked, sums),
        ]
    )


def flipped_bit(name: str, device: str) -> Outcome:
    """Each single bit flipped in a packed page changes the checksum: counts those that do not."""
    source = Source(name, device)
    buffer, _ = pack_pages(source.normal(1, 8, dtype=torch.bfloat16), source.integers(0))
    bits = page_bytes(buffer) * 8
    bit = torch.arange(bits, device=device)
    flipped = buffer.repeat(bits, 1)
    flipped[bit, bit // 8] ^= (1 << (bit % 8)).to(torch.uint8)
    pages = torch.arange(bits, dtype=torch.int32, device=device)
    checksums = unpack_pages(torch.zeros_like(flipped), pages, flipped)
    intact = reference.page_checksums(as_words(buffer).view(1, -1))
    unseen = int((checksums == intact).sum())
    return Outcome(float(unseen), 0.0, f"{unseen} of {bits} flipped bits went unseen")
