"""Tokens to text and back, and replies that end at a stop text."""

import json
import socket
from pathlib import Path

import pytest

from chaos.event import Kind
from stack.engine import alphabet
from stack.engine.asked import BadRequest, parse
from stack.engine.engine_link import Tokens
from stack.engine.order import Order
from stack.engine.reply import Reply
from stack.engine.trace import Trace


def test_every_token_is_one_printable_character_and_back() -> None:
    text = alphabet.decode(range(256))
    assert len(set(text)) == 256
    assert all(character.isprintable() for character in text)
    assert alphabet.encode(text) == list(range(256))


def test_a_character_outside_the_alphabet_becomes_its_bytes() -> None:
    assert alphabet.encode("\n") == [10]
    assert alphabet.encode("日") == list("日".encode())


def test_what_may_become_a_stop_text_is_not_shown_yet() -> None:
    reply = Reply(0, Order(1, "r", (1,), 9, stop=("abc",)))
    assert [reply.take(Tokens((ord(c),))) for c in "xab"] == ["", "", "x"]
    assert reply.take(Tokens((ord("c"),), "stop", 3)) == ""
    assert reply.text == "x"


def test_a_false_start_of_a_stop_text_is_shown_in_the_end() -> None:
    reply = Reply(0, Order(1, "r", (1,), 9, stop=("abc",)))
    shown = [reply.take(Tokens((ord(c),))) for c in "xab"]
    shown.append(reply.take(Tokens((ord("d"),), "length")))
    assert "".join(shown) == "xabd"


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"prompt": "x"},
        {"prompt": "x", "bootstrap_room": 1},
        {"prompt": "", "bootstrap_room": 1, "bootstrap_port": 1},
        {"prompt": [[999]], "bootstrap_room": 1, "bootstrap_port": 1},
        {"prompt": "x", "max_tokens": 0, "bootstrap_room": 1, "bootstrap_port": 1},
        {"prompt": "x", "max_tokens": "8", "bootstrap_room": 1, "bootstrap_port": 1},
        {"prompt": ["x", "y"], "bootstrap_room": [1], "bootstrap_port": 1},
    ],
)
def test_a_bad_body_is_the_clients_mistake(body: object) -> None:
    with pytest.raises(BadRequest, match="expected"):
        parse("completion", body, "r", None)


def test_a_trace_that_nobody_reads_drops_counts_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(path))
        door.listen()
        trace = Trace(str(path), "decode-0")
        reader, _ = door.accept()
        with reader:
            for _ in range(5000):
                trace.mark(Kind.STAGE, "r" * 200)
            reader.settimeout(0.2)
            data = b"".join(_everything(reader))
            trace.mark(Kind.STAGE, "after")
            data += b"".join(_everything(reader))
        trace.close()
    marks = [json.loads(line) for line in data.splitlines()]
    lost = [mark for mark in marks if mark["kind"] == "lost"]
    assert len(lost) == 1
    assert lost[0]["detail"]["count"] + sum(mark["kind"] == "stage" for mark in marks) == 5001


def _everything(reader: socket.socket) -> list[bytes]:
    pieces: list[bytes] = []
    try:
        while piece := reader.recv(1 << 20):
            pieces.append(piece)
    except TimeoutError:
        return pieces
    return pieces


def test_a_trace_path_where_nobody_listens_is_refused(tmp_path: Path) -> None:
    """Or all that this worker does would be missing from the evidence, and nothing would say so."""
    with pytest.raises(ConnectionError, match="expected a listener at"):
        Trace(str(tmp_path / "trace"), "decode-0")


def test_no_trace_path_is_no_trace() -> None:
    Trace(None, "decode-0").mark(Kind.STAGE, "r")
