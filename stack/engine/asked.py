"""What a client asks for: the bodies of the three APIs, parsed into one shape."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from stack.engine import alphabet
from stack.engine.order import Order

TOKENS_MAX_DEFAULT = 16
PREFILL_PORT_MAX = 65535


class BadRequest(ValueError):
    """The client's mistake: what was expected and what came."""


@dataclass(frozen=True, slots=True)
class Asked:
    """`api` is "completion", "chat" or "generate"; one order a reply, prompts times n."""

    api: str
    model: str
    request_id: str
    orders: tuple[Order, ...]
    stream: bool
    include_usage: bool


@dataclass(frozen=True, slots=True)
class Sampling:
    tokens_max: int
    temperature: float
    seed: int | None
    stop: tuple[str, ...]
    ignore_end: bool
    count: int


def parse(api: str, body: object, header_id: str | None, routing_key: str | None) -> Asked:
    """The X-Request-ID header names the request, else its own "rid". Raises BadRequest."""
    raw = _object("the body", body)
    request_id = str(header_id or raw.get("rid") or f"req-{uuid.uuid4().hex}")
    sampling = _sampling(api, raw)
    prompts = [prompt for prompt in _prompts(api, raw) for _ in range(sampling.count)]
    rooms = _per_order(raw, "bootstrap_room", len(prompts))
    hosts = _per_order(raw, "bootstrap_host", len(prompts))
    ports = _per_order(raw, "bootstrap_port", len(prompts))
    orders = tuple(
        Order(
            room=_room(rooms[index]),
            request_id=request_id,
            tokens=tuple(prompt),
            tokens_max=sampling.tokens_max,
            host=str(hosts[index] or "127.0.0.1"),
            port=_port(ports[index]),
            temperature=sampling.temperature,
            seed=_seed(sampling.seed, request_id, index),
            stop=sampling.stop,
            ignore_end=sampling.ignore_end,
            routing_key=routing_key,
        )
        for index, prompt in enumerate(prompts)
    )
    options = _object("stream_options", raw.get("stream_options") or {})
    return Asked(
        api,
        str(raw.get("model") or "unknown"),
        request_id,
        orders,
        bool(raw.get("stream")),
        bool(options.get("include_usage")),
    )


def _sampling(api: str, raw: Mapping[str, Any]) -> Sampling:
    if api == "generate":
        params = _object("sampling_params", raw.get("sampling_params") or {})
        tokens_max = params.get("max_new_tokens")
    else:
        params = raw
        tokens_max = raw.get("max_completion_tokens") or raw.get("max_tokens")
    seed = params.get("sampling_seed", params.get("seed"))
    sampling = Sampling(
        _integer(tokens_max, TOKENS_MAX_DEFAULT, "max_tokens"),
        _real(params.get("temperature"), 1.0, "temperature"),
        None if seed is None else _integer(seed, 0, "seed"),
        _stops(params.get("stop")),
        bool(params.get("ignore_eos")),
        _integer(params.get("n"), 1, "n"),
    )
    if sampling.tokens_max < 1 or sampling.count < 1 or sampling.temperature < 0:
        raise BadRequest("expected max_tokens >= 1, n >= 1 and temperature >= 0")
    return sampling


def _object(name: str, given: object) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise BadRequest(f"{name}: expected a JSON object, got {given!r}")
    return cast("dict[str, Any]", given)


def _stops(given: object) -> tuple[str, ...]:
    if given is None or isinstance(given, str):
        return (given,) if given else ()
    if not isinstance(given, list):
        raise BadRequest(f"stop: expected a text or a list of texts, got {given!r}")
    return tuple(str(stop) for stop in cast("list[Any]", given) if stop)


def _real(given: object, default: float, name: str) -> float:
    if given is None:
        return default
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise BadRequest(f"{name}: expected a number, got {given!r}")
    return float(given)


def _integer(given: object, default: int, name: str) -> int:
    if given is None:
        return default
    whole = isinstance(given, float) and given.is_integer()
    if isinstance(given, bool) or not (isinstance(given, int) or whole):
        raise BadRequest(f"{name}: expected a whole number, got {given!r}")
    return int(given)  # pyright: ignore[reportArgumentType] - narrowed above


def _prompts(api: str, raw: Mapping[str, Any]) -> list[list[int]]:
    if api == "chat":
        return [alphabet.encode(_transcript(raw.get("messages")))]
    names = ("text", "input_ids") if api == "generate" else ("prompt",)
    given = next((raw[name] for name in names if raw.get(name) is not None), None)
    if not given or not isinstance(given, (str, list)):
        raise BadRequest(f"{' or '.join(names)}: expected a prompt, got {given!r}")
    given = cast("str | list[Any]", given)
    many: list[Any] = [given] if isinstance(given, str) or _is_ids(given) else given
    return [_tokens(prompt) for prompt in many]


def _is_ids(given: list[Any]) -> bool:
    return all(isinstance(one, int) for one in given)


def _tokens(prompt: object) -> list[int]:
    if isinstance(prompt, str) and prompt:
        return alphabet.encode(prompt)
    if isinstance(prompt, list) and prompt and _is_ids(cast("list[Any]", prompt)):
        ids = cast("list[int]", prompt)
        if all(0 <= one < alphabet.END for one in ids):
            return ids
    raise BadRequest(f"expected a text or token ids below {alphabet.END}, got {prompt!r}")


def _transcript(messages: object) -> str:
    if not isinstance(messages, list) or not messages:
        raise BadRequest(f"messages: expected a list, got {messages!r}")
    lines = [_line(message) for message in cast("list[Any]", messages)]
    return "\n".join([*lines, "assistant: "])


def _line(message: object) -> str:
    fields = _object("messages", message)
    content = fields.get("content") or ""
    if isinstance(content, list):
        parts = cast("list[dict[str, Any]]", content)
        content = "".join(str(part.get("text", "")) for part in parts)
    return f"{fields.get('role', 'user')}: {content}"


def _per_order(raw: Mapping[str, Any], name: str, count: int) -> Sequence[Any]:
    """Routers send a list for a batch and a lone value otherwise."""
    given = raw.get(name)
    if not isinstance(given, list):
        return [given] * count
    values = cast("list[Any]", given)
    if len(values) != count:
        raise BadRequest(f"{name}: expected {count} of them, got {len(values)}")
    return values


def _room(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < 2**64:
        raise BadRequest(
            f"bootstrap_room: this worker is one half of a pair, expected a number, got {given!r}"
        )
    return given


def _port(given: object) -> int:
    if not isinstance(given, int) or not 0 < given <= PREFILL_PORT_MAX:
        raise BadRequest(f"bootstrap_port: expected the prefill's, got {given!r}")
    return given


def _seed(given: int | None, request_id: str, index: int) -> int:
    """Both legs of a pair, and a retry, draw the same."""
    drawn = given if given is not None else int.from_bytes(request_id.encode()[-7:], "big")
    return drawn + index
