"""Which ending a reply has, byte by byte."""

from __future__ import annotations

import pytest

from chaos.event import Kind
from stack import sse_client
from stack.sse_client import (
    CompletionStream,
    Ending,
    SseEvent,
    SseParser,
    digest,
    refusal,
    whole_reply,
)
from tests.fakes.sse_server import DONE, event, piece

GOOD = piece("a") + piece("b") + piece("", "stop") + DONE


def ending(*chunks: str, cut: str | None = None) -> Ending:
    stream = CompletionStream()
    for chunk in chunks:
        stream.feed(chunk.encode())
    return stream.ending(cut)


def how(*chunks: str, cut: str | None = None) -> tuple[Kind, object]:
    came = ending(*chunks, cut=cut)
    return came.kind, came.detail.get("how")


def test_a_complete_stream_is_finished_with_its_digest() -> None:
    assert ending(GOOD) == Ending(
        Kind.FINISHED,
        {
            "finish_reason": "stop",
            "tokens": 2,
            "usage": None,
            "sha256": digest("ab"),
            "done": True,
        },
    )


def test_the_engines_own_count_of_tokens_wins_over_the_pieces() -> None:
    usage = event({"choices": [], "usage": {"completion_tokens": 7}})
    detail = ending(piece("abc", "stop"), usage, DONE).detail
    assert (detail["tokens"], detail["usage"]) == (7, 7)


def test_an_engine_that_says_it_made_no_token_is_taken_at_its_word() -> None:
    usage = event({"choices": [], "usage": {"completion_tokens": 0}})
    assert ending(piece("abc", "stop"), usage, DONE).detail["usage"] == 0


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("end_of_line", ["\n", "\r\n", "\r"])
def test_the_cuts_between_chunks_do_not_matter(size: int, end_of_line: str) -> None:
    text = GOOD.replace("\n", end_of_line) + ": the last\n"  # frees a \r that waits for its \n
    chunks = [text[start : start + size] for start in range(0, len(text), size)]
    assert ending(*chunks) == ending(GOOD)


def test_a_character_cut_in_two_is_whole_again() -> None:
    stream = CompletionStream()
    whole = piece("é").replace("\\u00e9", "é").encode()
    middle = whole.index(b"\xc3") + 1
    assert stream.feed(whole[:middle]) == []
    assert stream.feed(whole[middle:]) == ["é"]


def test_a_ping_comment_is_not_a_piece() -> None:
    stream = CompletionStream()
    assert stream.feed(b": ping\n\n: ping\n\n") == []


def test_several_data_lines_are_one_event() -> None:
    assert list(SseParser().feed(b"event: news\ndata: one\ndata:two\nid: 5\n\n")) == [
        SseEvent("one\ntwo", "news")
    ]


def test_a_line_end_that_is_cut_in_two_is_one_line_end() -> None:
    parser = SseParser()
    assert list(parser.feed(b"data: one\r")) == []
    assert list(parser.feed(b"\ndata: two\r\n\r\n")) == [SseEvent("one\ntwo")]


def test_an_event_without_data_is_no_event() -> None:
    assert list(SseParser().feed(b"event: news\n\ndata: x\n\n")) == [SseEvent("x")]


def test_an_error_event_followed_by_done_is_not_a_completion() -> None:
    error = event({"error": {"message": "Stream error: reset", "type": "stream_error"}})
    came = ending(piece("a"), error, DONE)
    assert (came.kind, came.detail["how"]) == (Kind.BROKE, "error_event")
    assert came.detail["why"] == "Stream error: reset"


def test_an_error_event_spoils_even_a_stream_with_a_finish_reason() -> None:
    assert how(piece("a", "stop"), event({"error": "boom"}), DONE) == (Kind.BROKE, "error_event")


def test_an_error_event_explains_the_cut_that_follows() -> None:
    assert how(event({"error": "boom"}), cut="reset") == (Kind.BROKE, "error_event")


def test_an_error_of_the_older_form_is_an_error_too() -> None:
    assert ending(event({"object": "error", "message": "aborted"}), DONE).detail["why"] == "aborted"


def test_an_event_named_error_is_an_error_whatever_it_holds() -> None:
    assert how("event: error\n" + event({"detail": 1}), GOOD) == (Kind.BROKE, "error_event")


def test_an_event_that_is_not_json_is_an_error_with_its_text() -> None:
    came = ending(event("{'error': {'message'"), GOOD)
    assert (came.kind, came.detail["why"]) == (Kind.BROKE, "{'error': {'message'")


def test_an_error_that_is_null_is_no_error() -> None:
    chunk = event({"error": None, "choices": [{"text": "a", "finish_reason": "stop"}]})
    assert ending(chunk, DONE).kind is Kind.FINISHED


def test_a_stream_that_is_cut_after_done_is_broken() -> None:
    assert how(GOOD, cut="reset") == (Kind.BROKE, "transport")


def test_a_stream_without_done_is_truncated() -> None:
    assert how(piece("a", "stop")) == (Kind.BROKE, "truncated")


def test_a_stream_with_done_but_without_finish_reason_is_truncated() -> None:
    assert how(piece("a"), DONE) == (Kind.BROKE, "truncated")


def test_an_empty_stream_is_truncated() -> None:
    assert how() == (Kind.BROKE, "truncated")


def test_an_event_that_was_not_completed_does_not_count() -> None:
    assert how(piece("a", "stop"), DONE.rstrip("\n")) == (Kind.BROKE, "truncated")


def test_what_comes_after_done_is_read_by_nobody() -> None:
    stream = CompletionStream()
    assert stream.feed((GOOD + piece("more")).encode()) == ["a", "b"]


def test_a_line_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse_client, "LINE_BYTES_MAX", 100)
    assert how("data: " + "x" * 101) == (Kind.BROKE, "error_event")


@pytest.mark.parametrize(
    "payload", ['{"choices": {}}', '{"choices": [7]}', '{"choices": [{"text": 7}]}', "{}"]
)
def test_a_payload_of_an_unknown_shape_has_no_text(payload: str) -> None:
    assert CompletionStream().feed(event(payload).encode()) == []


def test_a_lone_surrogate_can_be_digested() -> None:
    assert ending(piece("\ud800", "stop"), DONE).kind is Kind.FINISHED


def test_a_whole_reply_is_finished_by_its_finish_reason() -> None:
    body = b'{"choices": [{"text": "ab", "finish_reason": "length"}]}'
    came, text = whole_reply(body)
    assert (came.kind, came.detail["done"], text) == (Kind.FINISHED, None, "ab")


@pytest.mark.parametrize(
    ("body", "kind_of_break"),
    [
        (b'{"choices": [{"text": "ab", "finish_reason": null}]}', "truncated"),
        (b'{"choices": []}', "truncated"),
        (b'{"choices": [{"te', "unparsable"),
        (b"", "unparsable"),
        (b'{"error": {"message": "boom"}}', "error_event"),
    ],
)
def test_a_whole_reply_that_lacks_something_broke(body: bytes, kind_of_break: str) -> None:
    came, _ = whole_reply(body)
    assert (came.kind, came.detail["how"]) == (Kind.BROKE, kind_of_break)


@pytest.mark.parametrize(
    ("body", "code", "error"),
    [
        (
            b'{"error": {"message": "none", "code": "no_available_workers", "type": "x"}}',
            "no_available_workers",
            "none",
        ),
        (b'{"error": {"message": "late", "type": "timeout"}}', "timeout", "late"),
        (b'{"object": "error", "message": "queue full", "code": 503}', "503", "queue full"),
        (b"upstream connect error", None, "upstream connect error"),
        (b"", None, ""),
    ],
)
def test_a_refusal_tells_code_and_text(body: bytes, code: str | None, error: str) -> None:
    assert refusal(503, body) == Ending(Kind.REFUSED, {"status": 503, "code": code, "error": error})
