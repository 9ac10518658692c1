"""What the load generator makes of replies, rounds and retries, against a real server."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from aiohttp import web

from chaos.contracts import Request
from chaos.event import Kind
from stack.clients import Clients
from stack.sse_client import digest
from tests.fakes.heard import Heard
from tests.fakes.sse_server import (
    DONE,
    SOON_S,
    Asked,
    Reply,
    SseServer,
    complete,
    event,
    piece,
    reply_to,
)


@pytest.fixture(scope="module")
def clients() -> Generator[Clients]:
    with Clients("http://127.0.0.1:9") as one:  # each test says where to
        yield one


def play(clients: Clients, server: SseServer, *requests: Request) -> Heard:
    heard = Heard()
    clients.aim(server.url)
    clients.start(requests, heard)
    assert clients.wait(SOON_S), heard.marks
    return heard


def saying(*lines: str, cut: bool = False) -> Reply:
    async def reply(asked: Asked) -> web.StreamResponse:
        await asked.begin()
        await asked.say(*lines)
        if cut:
            asked.cut()
        return asked.response

    return reply


def refusing(status: int, payload: object) -> Reply:
    async def reply(_asked: Asked) -> web.StreamResponse:
        return web.json_response(payload, status=status)

    return reply


async def cut_before_the_head(asked: Asked) -> web.StreamResponse:
    asked.cut()
    return asked.response


def test_a_good_stream_is_sent_tokens_finished(clients: Clients) -> None:
    with SseServer() as server:
        heard = play(clients, server, Request("r0", 0.0, "hello", 5, routing_key="agent-0"))
    reply = reply_to("hello", 5)
    assert heard.of("r0") == [Kind.SENT, Kind.TOKENS, Kind.FINISHED]
    assert heard.marks[0].detail == {
        "routing_key": "agent-0",
        "prompt_bytes": 5,
        "prompt_sha256": digest("hello"),
        "tokens_max": 5,
        "temperature": 0.0,
        "stop": None,
    }
    assert heard.text("r0") == reply
    assert heard.ending("r0").detail["sha256"] == digest(reply)


def test_a_good_whole_reply_is_finished(clients: Clients) -> None:
    with SseServer() as server:
        heard = play(clients, server, Request("r0", 0.0, "hello", 5, stream=False))
    assert heard.of("r0") == [Kind.SENT, Kind.TOKENS, Kind.FINISHED]
    assert heard.ending("r0").detail["sha256"] == digest(reply_to("hello", 5))


def test_the_request_carries_its_id_its_key_and_its_numbers(clients: Clients) -> None:
    with SseServer() as server:
        request = Request(
            "r0", 0.0, "hello", 5, routing_key="k", temperature=0.5, seed=3, stop=("x", "y")
        )
        heard = play(clients, server, request)
        asked = server.next_asked()
    assert heard.marks[0].detail["stop"] == '["x", "y"]'
    assert asked.request.headers["X-Request-ID"] == "r0"
    assert asked.request.headers["X-SMG-Routing-Key"] == "k"
    assert asked.body == {
        "prompt": "hello",
        "max_tokens": 5,
        "temperature": 0.5,
        "seed": 3,
        "stop": ["x", "y"],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


@pytest.mark.parametrize(
    ("reply", "how"),
    [
        (saying(piece("a"), event({"error": {"message": "boom"}}), DONE), "error_event"),
        (saying(piece("a"), cut=True), "transport"),
        (saying(piece("a", "stop"), DONE, cut=True), "transport"),
        (saying(piece("a", "stop")), "truncated"),
        (saying(piece("a"), DONE), "truncated"),
        (saying(), "truncated"),
        (cut_before_the_head, "transport"),
    ],
    ids=["error", "cut", "cut-after-done", "no-done", "no-reason", "empty", "no-head"],
)
def test_a_stream_that_lacks_something_broke(clients: Clients, reply: Reply, how: str) -> None:
    with SseServer({"r0": reply}) as server:
        heard = play(clients, server, Request("r0", 0.0, "hello", 5))
    ending = heard.ending("r0")
    assert (ending.kind, ending.detail["how"]) == (Kind.BROKE, how)
    assert ending.detail["why"]


def test_a_whole_reply_that_is_cut_broke(clients: Clients) -> None:
    async def cut_short(asked: Asked) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(asked.request)
        await response.write(b'{"choices": [')
        asked.cut()
        return response

    with SseServer({"r0": cut_short}) as server:
        heard = play(clients, server, Request("r0", 0.0, "hello", 5, stream=False))
    assert heard.ending("r0").detail["how"] == "transport"


def test_an_error_status_is_a_refusal(clients: Clients) -> None:
    error = {"error": {"message": "nobody there", "code": "no_available_workers"}}
    with SseServer({"r0": refusing(503, error)}) as server:
        heard = play(clients, server, Request("r0", 0.0, "hello", 5))
    assert heard.of("r0") == [Kind.SENT, Kind.REFUSED]
    assert heard.ending("r0").detail == {
        "status": 503,
        "code": "no_available_workers",
        "error": "nobody there",
    }


def test_a_refused_connection_broke_after_it_was_sent(clients: Clients) -> None:
    with SseServer() as server:
        pass  # its port is free again
    heard = play(clients, server, Request("r0", 0.0, "hello", 5))
    assert heard.of("r0") == [Kind.SENT, Kind.BROKE]
    assert heard.ending("r0").detail["how"] == "transport"


def test_a_round_begins_with_the_transcript_of_the_one_before(clients: Clients) -> None:
    with SseServer() as server:
        play(
            clients,
            server,
            Request("a0.0", 0.0, "task ", 3),
            Request("a0.1", 0.0, " tool1 ", 3, after="a0.0"),
            Request("a0.2", 0.0, " tool2 ", 3, after="a0.1"),
        )
        prompts = [server.next_asked().body["prompt"] for _ in range(3)]
    second = "task " + reply_to("task ", 3) + " tool1 "
    assert prompts == ["task ", second, second + reply_to(second, 3) + " tool2 "]


def test_a_round_waits_for_its_tool(clients: Clients) -> None:
    with SseServer() as server:
        heard = play(
            clients,
            server,
            Request("a0.0", 0.0, "task ", 3),
            Request("a0.1", 0.2, " tool ", 3, after="a0.0"),
        )
    sent = heard.wait_for(Kind.SENT, "a0.1")
    assert sent.at_ns - heard.ending("a0.0").at_ns >= 0.2e9


def test_a_failed_round_is_sent_again_under_a_new_name(clients: Clients) -> None:
    with SseServer({"a0.0": refusing(500, {}), "a0.0+1": saying(piece("a"))}) as server:
        heard = play(
            clients,
            server,
            Request("a0.0", 0.0, "task ", 3, tries_max=3),
            Request("a0.1", 0.0, " tool ", 3, after="a0.0", tries_max=3),
        )
    endings = {name: heard.ending(name).kind for name in ("a0.0", "a0.0+1", "a0.0+2", "a0.1")}
    assert endings == {
        "a0.0": Kind.REFUSED,
        "a0.0+1": Kind.BROKE,
        "a0.0+2": Kind.FINISHED,
        "a0.1": Kind.FINISHED,
    }


@pytest.mark.parametrize("reason", ["abort", "surprise"])
def test_a_round_that_was_aborted_is_no_answer_and_is_sent_again(
    clients: Clients, reason: str
) -> None:
    half = saying(piece("half"), piece("", reason), DONE)
    with SseServer({"r0": half}) as server:
        tried = Request("r0", 0.0, "one", 5, tries_max=2)
        heard = play(clients, server, tried, Request("r1", 0.0, " two", 5, after="r0"))
        prompts = [server.next_asked().body["prompt"] for _ in range(3)]
    assert heard.ending("r0").detail["finish_reason"] == reason
    assert prompts == ["one", "one", "one" + reply_to("one", 5) + " two"]


def test_a_reply_that_calls_a_tool_is_an_answer(clients: Clients) -> None:
    call = saying(piece("call"), piece("", "tool_calls"), DONE)
    with SseServer({"r0": call}) as server:
        heard = play(
            clients, server, Request("r0", 0.0, "one", 5), Request("r1", 0.0, "", 5, after="r0")
        )
    assert heard.of("r1")[-1] is Kind.FINISHED


def test_when_an_agent_gives_up_its_later_rounds_are_skipped(clients: Clients) -> None:
    with SseServer({"a0.0": refusing(500, {}), "a0.0+1": refusing(500, {})}) as server:
        heard = play(
            clients,
            server,
            Request("a0.0", 0.0, "task ", 3, tries_max=2),
            Request("a0.1", 0.0, " tool ", 3, after="a0.0"),
            Request("a0.2", 0.0, " tool ", 3, after="a0.1"),
            Request("b0", 0.0, "other", 3),
        )
    assert heard.of("a0.0+2") == []
    assert heard.of("a0.1") == heard.of("a0.2") == [Kind.SKIPPED]
    assert heard.ending("b0").kind is Kind.FINISHED


def test_without_further_tries_nothing_is_sent_again(clients: Clients) -> None:
    with SseServer({"r0": refusing(500, {})}) as server:
        heard = play(clients, server, Request("r0", 0.0, "hello", 3))
    assert heard.of("r0") == [Kind.SENT, Kind.REFUSED]
    assert heard.of("r0+1") == []


def test_of_many_streams_at_once_no_event_is_lost(clients: Clients) -> None:
    streams, tokens = 300, 20
    requests = [Request(f"r{index}", 0.0, f"prompt {index}", tokens) for index in range(streams)]
    with SseServer() as server:
        heard = play(clients, server, *requests)
    for request in requests:
        assert heard.text(request.request_id) == reply_to(request.prompt, tokens)
        assert heard.ending(request.request_id).kind is Kind.FINISHED


def test_every_request_has_a_connection_of_its_own(clients: Clients) -> None:
    peers: list[object] = []

    async def note_peer(asked: Asked) -> web.StreamResponse:
        assert asked.request.transport is not None
        peers.append(asked.request.transport.get_extra_info("peername"))
        return await complete(asked)

    with SseServer({f"r{index}": note_peer for index in range(5)}) as server:
        chain = [
            Request(f"r{index}", 0.0, "x", 2, after=f"r{index - 1}" if index else None)
            for index in range(5)
        ]
        play(clients, server, *chain)
    assert len(set(peers)) == 5


def test_a_reply_arrives_as_it_is_whatever_it_holds(clients: Clients) -> None:
    odd = '\u2028\u0000"\\ \n'
    with SseServer({"r0": saying(piece(odd), piece("", "stop"), DONE)}) as server:
        heard = play(clients, server, Request("r0", 0.0, "hello", 3))
    assert heard.text("r0") == odd
