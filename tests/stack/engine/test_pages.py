"""Pages are held, shared, kept apart and given back exactly once."""

import pytest

from stack.engine.page_pool import PagePool
from stack.engine.prefix_cache import PrefixCache


def test_too_few_pages_are_none_at_all() -> None:
    pool = PagePool(4)
    assert pool.take(5) is None
    assert pool.free == 4


def test_a_shared_page_is_free_when_its_last_holder_gave_it_back() -> None:
    pool = PagePool(2)
    (page,) = pool.take(1) or []
    pool.share(page)
    pool.give_back([page])
    assert pool.free == 1
    pool.give_back([page])
    assert pool.free == 2


def test_giving_back_twice_is_noticed() -> None:
    pool = PagePool(2)
    pages = pool.take(1) or []
    pool.give_back(pages)
    with pytest.raises(AssertionError, match="twice"):
        pool.give_back(pages)


def test_quarantined_pages_are_neither_free_nor_used() -> None:
    pool = PagePool(4)
    pool.quarantine(7, pool.take(3) or [])
    assert (pool.free, pool.used, pool.quarantined) == (1, 0, 3)
    assert pool.take(2) is None
    pool.discharge(7)
    pool.discharge(7)  # a second word about the same room does nothing
    assert (pool.free, pool.quarantined) == (4, 0)


def kept(tokens: tuple[int, ...], pages: int = 8) -> tuple[PagePool, PrefixCache]:
    pool = PagePool(pages)
    cache = PrefixCache(pool, page_size=4)
    held = pool.take(-(-len(tokens) // 4)) or []
    cache.keep(tokens, held)
    pool.give_back(held)
    return pool, cache


def test_only_full_pages_are_found_and_never_the_last_token() -> None:
    tokens = tuple(range(8))
    _, cache = kept(tokens)
    assert len(cache.match((*tokens, 99))) == 2
    assert len(cache.match(tokens)) == 1
    assert cache.match((1, *tokens)) == []


def test_a_page_is_named_by_everything_before_it() -> None:
    _, cache = kept((1, 1, 1, 1, 5, 5, 5, 5))
    assert len(cache.match((2, 2, 2, 2, 5, 5, 5, 5, 9))) == 0


def test_evicting_frees_idle_pages_and_spares_held_ones() -> None:
    pool, cache = kept(tuple(range(16)), pages=5)
    held = cache.match((0, 1, 2, 3, 99))
    cache.flush()
    assert pool.free == 4
    pool.give_back(held)
    cache.flush()
    assert pool.free == 5
    assert len(cache) == 0


def test_a_cache_that_is_off_keeps_nothing() -> None:
    pool = PagePool(4)
    cache = PrefixCache(pool, page_size=4, on=False)
    cache.keep(tuple(range(8)), pool.take(2) or [])
    assert len(cache) == 0
