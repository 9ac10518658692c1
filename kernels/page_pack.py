"""Gathers KV pages into one buffer for the transfer, and scatters them back, with a checksum.

The checksum of a page is the sum of its 32-bit words, each times the odd number 2i + 1 of its
place, modulo 2**32: one flipped bit always changes it, and the order of the additions does not.
"""
# ruff: noqa: ANN001, ANN201, N803, PLR0913, PLR0917 - Triton's own conventions: untyped runtime
#   arguments, capitals for compile-time ones, as many of both as there are; shapes have ranks
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUntypedFunctionDecorator=false
# pyright: reportMissingParameterType=false, reportPossiblyUnboundVariable=false
# pyright: reportArgumentType=false, reportCallIssue=false, reportOperatorIssue=false
# pyright: reportAttributeAccessIssue=false, reportIndexIssue=false
#   (Triton compiles the bodies; a type checker cannot follow it)

import torch
import triton
import triton.language as tl

from kernels.debug import require_inside

WORD_BYTES = 4
BLOCK_WORDS = 1024


@triton.jit
def move_pages_kernel(cache, buffer, pages, checksums, page_words, UNPACK: tl.constexpr,
                      BLOCK: tl.constexpr):  # fmt: skip
    """One block of words of one page per CTA; the page's checksum is summed over its CTAs."""
    index = tl.program_id(0)
    word = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    valid = word < page_words
    inside = cache + tl.load(pages + index).to(tl.int64) * page_words + word
    outside = buffer + index.to(tl.int64) * page_words + word
    if UNPACK:
        words = tl.load(outside, mask=valid, other=0)
        tl.store(inside, words, mask=valid)
    else:
        words = tl.load(inside, mask=valid, other=0)
        tl.store(outside, words, mask=valid)
    # Nobody reads the sum before the launch has ended, so that no order is needed.
    tl.atomic_add(checksums + index, tl.sum(words * (2 * word + 1), 0), sem="relaxed")


def pack_pages(cache: torch.Tensor, pages: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Pages of cache [pages_max, ...] as bytes [pages, page_bytes], and checksums [pages] int32.

    pages [n] int32. ValueError unless both are contiguous, on one device, and a page is a whole
    number of words.
    """
    require_pages(cache, pages)
    buffer = torch.empty((pages.numel(), page_bytes(cache)), dtype=torch.uint8, device=cache.device)
    return buffer, move_pages(cache, buffer, pages, unpack=False)


def unpack_pages(cache: torch.Tensor, pages: torch.Tensor, buffer: torch.Tensor) -> torch.Tensor:
    """Bytes [pages, page_bytes] into pages of the cache; checksums [pages] int32 of what came.

    ValueError as in `pack_pages`, or if the buffer is not uint8 of that shape.
    """
    require_pages(cache, pages)
    if buffer.dtype != torch.uint8 or buffer.shape != (pages.numel(), page_bytes(cache)):
        raise ValueError(f"buffer must be uint8 [{pages.numel()}, {page_bytes(cache)}]")
    if buffer.device != cache.device or not buffer.is_contiguous():
        raise ValueError("buffer must be contiguous and on the cache's device")
    return move_pages(cache, buffer, pages, unpack=True)


def move_pages(cache: torch.Tensor, buffer: torch.Tensor, pages: torch.Tensor, *,
               unpack: bool) -> torch.Tensor:  # fmt: skip
    """Launch the kernel on both tensors seen as words; returns the checksums."""
    checksums = torch.zeros(pages.numel(), dtype=torch.int32, device=cache.device)
    page_words = page_bytes(cache) // WORD_BYTES
    grid = (pages.numel(), triton.cdiv(page_words, BLOCK_WORDS))
    if pages.numel():
        move_pages_kernel[grid](as_words(cache), as_words(buffer), pages, checksums, page_words,
                                UNPACK=unpack, BLOCK=BLOCK_WORDS, num_warps=4)  # fmt: skip
    return checksums


def page_bytes(cache: torch.Tensor) -> int:
    return cache[0].numel() * cache.element_size()


def as_words(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(-1).view(torch.int32)


def require_pages(cache: torch.Tensor, pages: torch.Tensor) -> None:
    """ValueError unless the pages of this cache can be moved as words."""
    if pages.ndim != 1 or pages.dtype != torch.int32:
        raise ValueError(f"pages must be int32 [n], got {pages.dtype} {tuple(pages.shape)}")
    if not (cache.is_contiguous() and pages.is_contiguous()):
        raise ValueError("cache and pages must be contiguous")
    if cache.device != pages.device:
        raise ValueError(f"cache is on {cache.device}, pages are on {pages.device}")
    if page_bytes(cache) % WORD_BYTES:
        raise ValueError(f"a page of {page_bytes(cache)} bytes is not a whole number of words")
    require_inside("pages", pages, cache.shape[0], "pages of the cache")
