"""Paged KV for trials: shuffled pages, and poison in every slot that must not be read."""

from dataclasses import dataclass

import torch

from kernels.reference import encode_e4m3

E4M3 = torch.float8_e4m3fn
SPARE_PAGES = 2


@dataclass(frozen=True, slots=True)
class Paged:
    """Which pages each request has, and how long each is."""

    page: int
    lengths: tuple[int, ...]
    block_table: torch.Tensor
    context_lens: torch.Tensor

    @property
    def pages(self) -> int:
        return self.block_table.numel() + SPARE_PAGES

    def slots(self, request: int) -> torch.Tensor:
        """Where the tokens of one request lie, as slots of the flattened cache."""
        position = torch.arange(self.lengths[request], device=self.block_table.device)
        page = self.block_table[request][position // self.page].long()
        return page * self.page + position % self.page


class Source:
    """Seeded tensors on one device; the seed is the trial's name."""

    def __init__(self, name: str, device: str) -> None:
        self.device = device
        self.generator = torch.Generator().manual_seed(int.from_bytes(name.encode()[-7:]))

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.randn(shape, generator=self.generator).to(dtype).to(self.device)

    def integers(self, *values: int) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.int32, device=self.device)

    def paged(self, page: int, lengths: tuple[int, ...]) -> Paged:
        """Pages in random order, as after hours of serving."""
        width = max(1, -(-max(lengths) // page))
        count = len(lengths) * width + SPARE_PAGES
        order = torch.randperm(count, generator=self.generator)[: len(lengths) * width]
        table = order.to(torch.int32).view(len(lengths), width).contiguous().to(self.device)
        return Paged(page, lengths, table, self.integers(*lengths))

    def cache_apart(self, paged: Paged, *row: int, dtype: torch.dtype) -> torch.Tensor:
        """As `cache`, but between any two pages lies one of NaN, as other layers' would."""
        near = self.cache(paged, *row, dtype=dtype)
        apart = torch.full((paged.pages, 2, *near.shape[1:]), torch.nan, device=self.device)
        apart = apart.to(dtype)
        apart[:, 1] = near
        return apart[:, 1]

    def cache(self, paged: Paged, *row: int, dtype: torch.dtype) -> torch.Tensor:
        """[pages, page, *row], random where a request has a token and NaN everywhere else."""
        flat = torch.full((paged.pages * paged.page, *row), torch.nan, device=self.device)
        for request in range(len(paged.lengths)):
            slots = paged.slots(request)
            flat[slots] = self.normal(slots.numel(), *row)
        shaped = flat.view(paged.pages, paged.page, *row)
        if dtype == E4M3:
            return encode_e4m3(shaped * 100).view(E4M3)
        return shaped.to(dtype)

    def scales(self, paged: Paged, *row: int) -> torch.Tensor:
        """[pages, page, *row] float32 for an e4m3 cache, of 0.005 to 0.02; NaN where no token is.

        Rows differ by up to four times, so that a forgotten scale cannot go unseen.
        """
        shape = (paged.pages * paged.page, *row)
        flat = torch.full(shape, torch.nan, device=self.device)
        for request in range(len(paged.lengths)):
            slots = paged.slots(request)
            spread = torch.rand((slots.numel(), *row), generator=self.generator).to(self.device)
            flat[slots] = 0.005 * torch.exp2(2 * spread)
        return flat.view(paged.pages, paged.page, *row)
