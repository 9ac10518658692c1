"""What a reply to /v1/completions says: its pieces, and which kind of ending it had.

Pure: bytes in, pieces and an `Ending` out. Who reads the socket is somebody else's business.
The stream format is WHATWG's "server-sent events"; the payloads are OpenAI's completions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, cast

from chaos.ending import NO_JSON, UNPARSABLE
from chaos.event import Json, Kind

LINE_BYTES_MAX: Final = 1 << 20  # a stream without line ends must not eat our memory
ERROR_CHARACTERS_MAX: Final = 2000  # a router may wrap a worker's whole HTML page
DONE: Final = "[DONE]"


@dataclass(frozen=True, slots=True)
class SseEvent:
    data: str
    name: str = "message"


class SseParser:
    """Cuts a byte stream into events, whatever pieces it arrives in. Comments are dropped."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []
        self._name = ""

    def feed(self, chunk: bytes) -> Iterator[SseEvent]:
        """The events that this chunk completed.

        ValueError: a line longer than LINE_BYTES_MAX.
        """
        for line in self._lines(chunk):
            if not line:
                event = self._complete()
                if event is not None:
                    yield event
            else:
                self._field(line.decode("utf-8", "replace"))

    def _lines(self, chunk: bytes) -> list[bytes]:
        text = self._rest + chunk if self._rest else chunk
        half = b""
        if b"\r" in text:
            if text.endswith(b"\r"):  # its \n may be in the next chunk
                text, half = text[:-1], b"\r"
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = text.split(b"\n")
        self._rest = rest + half
        if len(self._rest) > LINE_BYTES_MAX:
            raise ValueError(f"a line of more than {LINE_BYTES_MAX} bytes without an end")
        return lines

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")  # a comment is a field without a name
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value

    def _complete(self) -> SseEvent | None:
        data, name = self._data, self._name
        self._data, self._name = [], ""
        return SseEvent("\n".join(data), name or "message") if data else None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a request ended: FINISHED, REFUSED, BROKE or CANCELLED, with that kind's details."""

    kind: Kind
    detail: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class Count:
    """How long a reply is. An engine may join tokens into one piece; only it knows how many."""

    pieces: int = 0
    usage: int | None = None  # what the engine says it made

    @property
    def tokens(self) -> int:
        return self.pieces if self.usage is None else self.usage


class CompletionStream:
    """One streamed reply, as far as it has come.

    Only a finish reason AND [DONE] AND a proper end of the body AND no error event make it
    complete: routers close a stream that broke with an error event, [DONE] and a clean end.
    """

    def __init__(self) -> None:
        self._parser = SseParser()
        self._pieces: list[str] = []
        self._finish_reason: str | None = None
        self._done = False
        self._error: str | None = None
        self._usage: int | None = None

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def feed(self, chunk: bytes) -> list[str]:
        """The pieces of text that this chunk brought; a comment brings none."""
        before = len(self._pieces)
        try:
            for event in self._parser.feed(chunk):
                self._take(event)
        except ValueError as error:
            self._error = self._error or str(error)
        return self._pieces[before:]

    def ending(self, cut: str | None = None) -> Ending:
        """What the end of the body means. `cut`: why the connection did not end properly."""
        tokens = self._tokens()
        if self._error is not None:
            return _broke("error_event", self._error, tokens, done=self._done)
        if cut is not None:
            return _broke("transport", cut, tokens, done=self._done)
        if self._finish_reason is None or not self._done:
            what = DONE if self._finish_reason is not None else "a finish_reason"
            return _broke("truncated", f"the stream ended without {what}", tokens, done=self._done)
        return _finished(self._finish_reason, tokens, self.text, done=True)

    def _tokens(self) -> Count:
        return Count(len(self._pieces), self._usage)

    def _take(self, event: SseEvent) -> None:
        if self._done:
            return  # a client has gone home by now
        if event.data == DONE:
            self._done = True
            return
        payload = _object(event.data)
        error = error_text(payload or {})
        if payload is None or event.name == "error":
            error = error or event.data
        if payload is None or error is not None:
            self._error = self._error or error
            return
        told = _completion_tokens(payload)
        self._usage = self._usage if told is None else told
        piece, finish_reason = _choice(payload)
        self._finish_reason = finish_reason or self._finish_reason
        if piece:
            self._pieces.append(piece)


def whole_reply(body: bytes) -> tuple[Ending, str]:
    """The ending and the text of a reply that was not streamed."""
    payload = _object(body.decode("utf-8", "replace"))
    if payload is None:
        why = f"{NO_JSON}, got {body[:200]!r}"
        return _broke(UNPARSABLE, why, Count(), done=None), ""
    error = error_text(payload)
    if error is not None:
        return _broke("error_event", error, Count(), done=None), ""
    text, finish_reason = _choice(payload)
    tokens = Count(int(bool(text)), _completion_tokens(payload))
    if finish_reason is None:
        return _broke("truncated", "a reply without a finish_reason", tokens, done=None), text
    return _finished(finish_reason, tokens, text, done=None), text


def refusal(status: int, body: bytes) -> Ending:
    """An error status before any token: the code and the text, however the sender wraps them."""
    text = body.decode("utf-8", "replace")
    payload = _object(text) or {}
    error = error_text(payload) or text
    detail: dict[str, Json] = {
        "status": status,
        "code": error_code(payload),
        "error": error[:ERROR_CHARACTERS_MAX],
    }
    return Ending(Kind.REFUSED, detail)


def error_text(payload: Mapping[str, object]) -> str | None:
    """The message of `{"error": ...}` (OpenAI, routers) or `{"object": "error"}` (SGLang, vLLM)."""
    error = payload.get("error")
    if error is None and payload.get("object") == "error":
        error = payload
    if not error:
        return None
    message = _mapping(error).get("message")
    return str(message) if message else json.dumps(error)


def error_code(payload: Mapping[str, object]) -> str | None:
    inner = _mapping(payload.get("error")) or payload
    code = inner.get("code") or inner.get("type")
    return None if code is None else str(code)


def digest(text: str) -> str:
    """SHA-256 of a reply; a lone surrogate from JSON is a character like any other here."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _object(text: str) -> Mapping[str, object] | None:
    try:
        value: object = json.loads(text)
    except ValueError:
        return None
    return _mapping(cast("object", value)) if isinstance(value, dict) else None


def _mapping(value: object) -> Mapping[str, object]:
    """The value, if it is a JSON object, else an empty one: what is not there is not there."""
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _choice(payload: Mapping[str, object]) -> tuple[str, str | None]:
    """Text and finish reason of the first choice; a usage chunk has no choice."""
    choices = payload.get("choices")
    if not isinstance(choices, list) or not choices:
        return "", None
    choice = _mapping(cast("list[object]", choices)[0])
    text, finish_reason = choice.get("text"), choice.get("finish_reason")
    return (
        text if isinstance(text, str) else "",
        finish_reason if isinstance(finish_reason, str) else None,
    )


def _completion_tokens(payload: Mapping[str, object]) -> int | None:
    tokens = _mapping(payload.get("usage")).get("completion_tokens")
    return tokens if isinstance(tokens, int) else None


def _broke(how: str, why: str, count: Count, *, done: bool | None) -> Ending:
    detail: dict[str, Json] = {
        "why": why[:ERROR_CHARACTERS_MAX],
        "how": how,
        "tokens": count.tokens,
        "usage": count.usage,
        "done": done,
    }
    return Ending(Kind.BROKE, detail)


def _finished(finish_reason: str, count: Count, text: str, *, done: bool | None) -> Ending:
    detail: dict[str, Json] = {
        "finish_reason": finish_reason,
        "tokens": count.tokens,
        "usage": count.usage,
        "sha256": digest(text),
        "done": done,  # None: not a stream, which alone has [DONE]
    }
    return Ending(Kind.FINISHED, detail)
