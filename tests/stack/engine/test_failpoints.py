"""Failpoints hit whom they are armed for, count, and let go."""

import asyncio

import pytest

from stack.engine.failpoints import SITES, Failpoints, Injected, Stops


def armed(action: str, **more: object) -> tuple[Failpoints, int]:
    table = Failpoints(SITES)
    return table, table.arm({"site": "decode.token", "action": action, **more})


def hits(table: Failpoints, identity: int) -> int:
    found = table.get(identity)
    assert found is not None
    return found.hits


def test_only_the_named_request_is_hit() -> None:
    table, identity = armed("drop", request_id="a")
    assert asyncio.run(table.passing("decode.token", "b"))
    assert asyncio.run(table.passing("decode.step", "a"))
    assert not asyncio.run(table.passing("decode.token", "a"))
    assert hits(table, identity) == 1


def test_any_request_is_hit_when_none_is_named() -> None:
    table, identity = armed("drop")
    assert not any(asyncio.run(table.passing("decode.token", name)) for name in "abc")
    assert hits(table, identity) == 3


def test_it_acts_only_as_often_as_it_was_told() -> None:
    table, identity = armed("drop", times=2)
    passed = [asyncio.run(table.passing("decode.token", "a")) for _ in range(4)]
    assert passed == [False, False, True, True]
    assert hits(table, identity) == 2


def test_an_error_is_raised_at_the_site() -> None:
    table, _ = armed("error")
    with pytest.raises(Injected, match=r"decode\.token"):
        asyncio.run(table.passing("decode.token", "a"))


def test_disarming_releases_whoever_is_held() -> None:
    table, identity = armed("hold")

    async def pass_by() -> bool:
        passing = asyncio.ensure_future(table.passing("decode.token", "a"))
        while not (found := table.get(identity)) or not found.held:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0)
        assert not passing.done()
        gone = table.disarm(identity)
        async with asyncio.timeout(5):
            assert await passing
        assert gone is not None
        assert (gone.hits, gone.held) == (1, 0)
        return True

    assert asyncio.run(pass_by())


def test_a_held_request_that_is_cancelled_is_no_longer_held() -> None:
    table, identity = armed("hold")

    async def pass_by() -> int:
        passing = asyncio.ensure_future(table.passing("decode.token", "a"))
        await asyncio.sleep(0)
        passing.cancel()
        await asyncio.wait([passing])
        found = table.get(identity)
        assert found is not None
        return found.held

    assert asyncio.run(pass_by()) == 0


def test_the_step_thread_goes_on_with_others_while_one_is_held() -> None:
    table, identity = armed("hold", request_id="a")
    stops = Stops(table, "decode.token")
    assert [stops.check(1, "a"), stops.check(2, "b"), stops.check(1, "a")] == [
        "skip",
        "pass",
        "skip",
    ]
    assert hits(table, identity) == 1
    table.disarm(identity)
    assert stops.check(1, "a") == "pass"


def test_a_released_request_can_be_forgotten_while_held() -> None:
    table, identity = armed("hold")
    stops = Stops(table, "decode.token")
    stops.check(1, "a")
    stops.forget(1)
    found = table.get(identity)
    assert found is not None
    assert found.held == 0


@pytest.mark.parametrize(
    "raw",
    [
        {"site": "nowhere", "action": "hold"},
        {"site": "decode.token", "action": "explode"},
        {"site": "decode.token", "action": "stop_after"},
    ],
)
def test_what_cannot_be_armed_is_refused(raw: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"site|action|stop_after"):
        Failpoints(SITES).arm(raw)
