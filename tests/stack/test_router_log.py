"""Router log lines, as the two routers were seen to write them."""

from __future__ import annotations

import json
import queue
from pathlib import Path

import pytest

from chaos.event import Kind, Mark
from stack.log_tail import LogTail, last_lines
from stack.routers.router_log import mark

WAIT_S = 5.0


def _unexpected(error: Exception) -> None:
    raise AssertionError(error)


SGL_ERROR = (
    "2026-11-30 16:14:30 ERROR http_request{method=POST uri=/v1/completions version=HTTP/1.1 "
    'module="smg" request_id="r7" status_code=503 latency=975}: smg::response: '
    "src/middleware.rs:349: request failed with server error"
)


def smg_line(message: str, **changes: object) -> str:
    span = {"path": "/v1/completions", "request_id": "r7", "status_code": 200}
    return json.dumps({"level": "WARN", "message": message, "span": {**span, **changes}})


def test_a_stream_that_the_worker_ended_names_the_request_and_its_guard() -> None:
    seen = mark(smg_line("Stream ended by the worker before completion: unexpected EOF"))
    assert seen is not None
    assert (seen.actor, seen.kind, seen.about) == ("router", Kind.GUARD, "r7")
    assert seen.detail["guard"] == "router_stream_failure"
    assert "unexpected EOF" in str(seen.detail["why"])


@pytest.mark.parametrize(
    "line", [SGL_ERROR, smg_line("request failed with server error", status_code=503)]
)
def test_an_error_reply_of_either_router_is_a_mark_with_its_status(line: str) -> None:
    seen = mark(line)
    assert seen is not None
    assert seen.about == "r7"
    assert seen.detail["guard"] == "router_error_reply"
    assert "(status 503)" in str(seen.detail["why"])


def test_a_request_for_which_there_is_no_worker_names_itself() -> None:
    seen = mark(smg_line("No available workers for model"))
    assert seen is not None
    assert (seen.about, seen.detail["guard"]) == ("r7", "router_error_reply")


@pytest.mark.parametrize(
    "line",
    [
        smg_line("request failed with server error", path="/readiness"),
        SGL_ERROR.replace("/v1/completions", "/readiness"),
        smg_line("started processing request"),
        smg_line("finished processing request"),
        "",
        "{request failed with server error",
        "request failed with server error",
        '{"message": "request failed with server error", "span": null}',
    ],
)
def test_any_other_line_is_no_mark(line: str) -> None:
    assert mark(line) is None


def test_a_tail_hands_over_whole_lines_without_colours_as_they_are_written(
    tmp_path: Path,
) -> None:
    lines: queue.Queue[str] = queue.Queue()
    path = tmp_path / "router.log"
    tail = LogTail(path, lines.put, _unexpected)
    tail.start()
    try:
        with path.open("wb", buffering=0) as log:
            log.write(b"\x1b[2mone\x1b[0m\ntw")
            assert lines.get(timeout=WAIT_S) == "one"
            log.write(b"o\n")
            assert lines.get(timeout=WAIT_S) == "two"
    finally:
        tail.close()


def test_what_is_written_before_the_close_is_still_read(tmp_path: Path) -> None:
    seen: list[Mark | None] = []
    path = tmp_path / "router.log"
    tail = LogTail(path, lambda line: seen.append(mark(line)), _unexpected)
    tail.start()
    path.write_text(SGL_ERROR + "\n")
    tail.close()
    assert [one.about for one in seen if one] == ["r7"]


def test_a_tail_whose_reader_fails_says_so_once_and_ends(tmp_path: Path) -> None:
    path = tmp_path / "router.log"
    path.write_text("one\ntwo\n")
    why: queue.Queue[Exception] = queue.Queue()

    def read(line: str) -> None:
        raise ZeroDivisionError(line)

    tail = LogTail(path, read, why.put)
    tail.start()
    assert str(why.get(timeout=WAIT_S)) == "one"
    tail.close()
    assert why.empty()


def test_the_last_lines_say_when_there_are_none(tmp_path: Path) -> None:
    assert last_lines(tmp_path / "none.log") == "(no log)"
    (tmp_path / "some.log").write_text("".join(f"{number}\n" for number in range(50)))
    assert last_lines(tmp_path / "some.log", 2) == "48\n49"
