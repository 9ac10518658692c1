"""What the API accepts, what it refuses, and in which words."""

from __future__ import annotations

import socket
from typing import Any, cast

import pytest
import requests

from stack.links import Switchboard
from tests.fakes.wire import Wire

ANY_PORT = "127.0.0.1:0"


def call(board: Switchboard, method: str, path: str, body: object = None) -> requests.Response:
    return requests.request(method, board.api_url + path, json=cast("Any", body), timeout=5)


def said(board: Switchboard, method: str, path: str, body: object = None) -> tuple[int, str]:
    answer = call(board, method, path, body)
    refusal = answer.json()
    assert refusal["status"] == answer.status_code
    return answer.status_code, refusal["error"]


def test_a_proxy_is_shown_as_it_was_made(board: Switchboard) -> None:
    body = {"name": "shown", "upstream": "127.0.0.1:1", "listen": ANY_PORT}
    made = call(board, "POST", "/proxies", body)
    assert made.status_code == 201
    shown = made.json()
    shown.pop("Logger", None)  # a slip of v2.12.0: its logger is an exported field
    host, _, port = shown.pop("listen").rpartition(":")
    assert (host, int(port) > 0) == ("127.0.0.1", True)
    assert shown == {"name": "shown", "upstream": "127.0.0.1:1", "enabled": True, "toxics": []}
    for path in ("/proxies/shown", "/proxies"):
        assert call(board, "GET", path).status_code == 200
    assert call(board, "GET", "/proxies").json()["shown"] == made.json()
    assert call(board, "DELETE", "/proxies/shown").status_code == 204
    assert said(board, "GET", "/proxies/shown") == (404, "proxy not found")


def test_a_toxic_is_shown_with_all_its_settings_and_defaults(
    board: Switchboard, wire: Wire
) -> None:
    path = f"/proxies/{wire.link.proxy_name}/toxics"
    made = call(board, "POST", path, {"type": "latency", "attributes": {"latency": 5}})
    assert made.status_code == 200
    assert made.json() == {
        "attributes": {"latency": 5, "jitter": 0},
        "name": "latency_downstream",
        "type": "latency",
        "stream": "downstream",
        "toxicity": 1,
    }
    assert call(board, "GET", path).json() == [made.json()]
    assert call(board, "GET", f"{path}/latency_downstream").json() == made.json()
    changed = call(
        board, "PATCH", f"{path}/latency_downstream", {"toxicity": 0.3, "attributes": {"jitter": 2}}
    ).json()
    assert (changed["attributes"], changed["toxicity"]) == ({"latency": 5, "jitter": 2}, 0.3)
    assert call(board, "DELETE", f"{path}/latency_downstream").status_code == 204
    assert call(board, "GET", path).json() == []


@pytest.mark.parametrize(
    ("toxic", "settings"),
    [
        ("latency", {"latency", "jitter"}),
        ("bandwidth", {"rate"}),
        ("timeout", {"timeout"}),
        ("reset_peer", {"timeout"}),
        ("slow_close", {"delay"}),
        ("slicer", {"average_size", "size_variation", "delay"}),
        ("limit_data", {"bytes"}),
        ("noop", set[str]()),
    ],
)
def test_every_toxic_has_the_settings_of_the_real_one(
    board: Switchboard, wire: Wire, toxic: str, settings: set[str]
) -> None:
    made = call(board, "POST", f"/proxies/{wire.link.proxy_name}/toxics", {"type": toxic})
    assert made.json()["attributes"] == dict.fromkeys(settings, 0)


def test_upstream_toxics_are_listed_before_downstream_ones(board: Switchboard, wire: Wire) -> None:
    path = f"/proxies/{wire.link.proxy_name}/toxics"
    for stream in ("downstream", "upstream"):
        call(board, "POST", path, {"type": "noop", "stream": stream})
    listed = [toxic["stream"] for toxic in call(board, "GET", path).json()]
    assert listed == ["upstream", "downstream"]


@pytest.mark.parametrize(
    ("body", "attributes", "toxicity"),
    [
        ({"type": "latency", "attributes": {"latncy": 9}}, {"latency": 0, "jitter": 0}, 1),
        ({"type": "latency", "toxicity": 7}, {"latency": 0, "jitter": 0}, 7),
        ({"type": "latency", "attributes": {"LATENCY": 9}}, {"latency": 9, "jitter": 0}, 1),
        ({"type": "latency", "attributes": None}, {"latency": 0, "jitter": 0}, 1),
        ({"type": "latency", "attributes": {"latency": None}}, {"latency": 0, "jitter": 0}, 1),
        ({"type": "latency", "attributes": {"latency": -5}}, {"latency": -5, "jitter": 0}, 1),
        ({"type": "latency", "nonsense": []}, {"latency": 0, "jitter": 0}, 1),
        ({"type": "latency", "stream": "DownStream"}, {"latency": 0, "jitter": 0}, 1),
    ],
)
def test_what_is_accepted_without_a_word(
    board: Switchboard, wire: Wire, body: object, attributes: dict[str, int], toxicity: float
) -> None:
    answer = call(board, "POST", f"/proxies/{wire.link.proxy_name}/toxics", body)
    assert answer.status_code == 200
    assert (answer.json()["attributes"], answer.json()["toxicity"]) == (attributes, toxicity)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"type": "latncy"}, "invalid toxic type"),
        ({}, "invalid toxic type"),
        (
            {"type": "latency", "stream": "sideways"},
            "stream was invalid, can be either upstream or downstream",
        ),
        ({"type": "latency", "stream": ""}, None),
        ({"type": "latency", "attributes": {"latency": "9"}}, None),
        ({"type": "latency", "attributes": {"latency": 1.5}}, None),
        ({"type": "latency", "attributes": {"latency": 1.0}}, None),
        ({"type": "latency", "attributes": {"latency": True}}, None),
        ({"type": "latency", "attributes": {"latency": 1 << 63}}, None),
        ({"type": "latency", "attributes": []}, None),
        ({"type": "latency", "toxicity": "1"}, None),
        ({"type": 5}, None),
        ([], None),
    ],
)
def test_a_bad_toxic_is_refused_and_leaves_nothing(
    board: Switchboard, wire: Wire, body: object, error: str | None
) -> None:
    path = f"/proxies/{wire.link.proxy_name}/toxics"
    status, words = said(board, "POST", path, body)
    assert status == 400
    assert error is None or words == error
    assert call(board, "GET", path).json() == []


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"upstream": "127.0.0.1:1"}, 400, "missing required field: name"),
        ({"name": "n"}, 400, "missing required field: upstream"),
        ({"name": 5, "upstream": "127.0.0.1:1"}, 400, None),
        ({"name": "n", "upstream": "127.0.0.1:1", "enabled": "yes"}, 400, None),
        ({"name": "n", "upstream": "127.0.0.1:1", "listen": "nonsense"}, 500, None),
        ({"name": "n", "upstream": "127.0.0.1:1", "listen": "127.0.0.1:99999"}, 500, None),
        (None, 400, "bad request body: EOF"),
    ],
)
def test_a_bad_proxy_is_refused_and_leaves_nothing(
    board: Switchboard, body: object, status: int, error: str | None
) -> None:
    came, words = said(board, "POST", "/proxies", body)
    assert came == status
    assert error is None or words == error
    assert "n" not in call(board, "GET", "/proxies").json()


def test_a_name_that_exists_is_a_conflict(board: Switchboard, wire: Wire) -> None:
    name = wire.link.proxy_name
    body = {"name": name, "upstream": "127.0.0.1:1", "listen": ANY_PORT}
    assert said(board, "POST", "/proxies", body) == (409, "proxy already exists")
    toxics = f"/proxies/{name}/toxics"
    assert call(board, "POST", toxics, {"type": "noop", "name": "x"}).status_code == 200
    again = {"type": "latency", "name": "x", "stream": "upstream"}
    assert said(board, "POST", toxics, again) == (409, "toxic already exists")


@pytest.mark.parametrize(
    ("method", "path", "error"),
    [
        ("GET", "/proxies/nobody", "proxy not found"),
        ("POST", "/proxies/nobody", "proxy not found"),
        ("DELETE", "/proxies/nobody", "proxy not found"),
        ("GET", "/proxies/nobody/toxics", "proxy not found"),
        ("POST", "/proxies/nobody/toxics", "proxy not found"),
        ("GET", "/proxies/{}/toxics/nothing", "toxic not found"),
        ("POST", "/proxies/{}/toxics/nothing", "toxic not found"),
        ("DELETE", "/proxies/{}/toxics/nothing", "toxic not found"),
    ],
)
def test_what_does_not_exist_is_not_found(
    board: Switchboard, wire: Wire, method: str, path: str, error: str
) -> None:
    assert said(board, method, path.format(wire.link.proxy_name), {}) == (404, error)


def test_a_port_in_use_is_a_server_error_and_leaves_nothing(board: Switchboard) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        body = {"name": "late", "upstream": "127.0.0.1:1", "listen": listen}
        status, error = said(board, "POST", "/proxies", body)
    assert (status, error) == (500, f"listen tcp {listen}: bind: address already in use")
    assert call(board, "GET", "/proxies/late").status_code == 404


def test_populate_makes_replaces_and_keeps(board: Switchboard, wire: Wire) -> None:
    kept = {
        "name": wire.link.proxy_name,
        "upstream": f"127.0.0.1:{wire.link.upstream_port}",
        "listen": f"127.0.0.1:{wire.link.listen_port}",
    }
    _, listener = wire.open("downstream")
    new = {"name": "populated", "upstream": "127.0.0.1:1", "listen": ANY_PORT, "enabled": False}
    answer = call(board, "POST", "/populate", [kept, new])
    assert answer.status_code == 201
    assert [one["name"] for one in answer.json()["proxies"]] == [kept["name"], "populated"]
    assert listener.hears_nothing()
    moved = {**new, "upstream": "127.0.0.1:2"}
    (one,) = call(board, "POST", "/populate", [moved]).json()["proxies"]
    assert (one["upstream"], one["enabled"]) == ("127.0.0.1:2", False)
    call(board, "DELETE", "/proxies/populated")


def test_populate_checks_all_before_it_makes_one(board: Switchboard) -> None:
    good = {"name": "good", "upstream": "127.0.0.1:1", "listen": ANY_PORT}
    answer = call(board, "POST", "/populate", [good, {"name": "bad"}])
    assert answer.json() == {
        "error": "missing required field: upstream at proxy 2",
        "status": 400,
        "proxies": None,
    }
    assert call(board, "GET", "/proxies/good").status_code == 404


def test_browsers_are_kept_out(board: Switchboard) -> None:
    headers = {"User-Agent": "Mozilla/5.0"}
    answer = requests.post(f"{board.api_url}/reset", headers=headers, timeout=5)
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("DELETE", "/proxies", 405), ("GET", "/reset", 405), ("GET", "/nonsense", 404)],
)
def test_unknown_routes_and_methods_are_refused(
    board: Switchboard, method: str, path: str, status: int
) -> None:
    assert call(board, method, path).status_code == status


def test_the_version_is_told(board: Switchboard) -> None:
    assert isinstance(call(board, "GET", "/version").json()["version"], str)
