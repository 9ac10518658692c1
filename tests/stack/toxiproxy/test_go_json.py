"""The API takes JSON as Go does: what it refuses, and what it lets pass."""

from __future__ import annotations

import pytest

from stack.toxiproxy.addresses import Address, BadAddress
from stack.toxiproxy.api_error import ApiError
from stack.toxiproxy.go_json import Fields, first_value, objects


@pytest.mark.parametrize("body", [b'{"a": 1}', b' {"a": 1} trailing words', b'{"A": 0, "a": 1}'])
def test_the_first_value_counts(body: bytes) -> None:
    assert Fields.of(first_value(body)).integer("a", 0) == 1


@pytest.mark.parametrize("body", [b"", b"  ", b"{", b"nonsense", b'{"a": NaN}', b"{'a': 1}"])
def test_what_is_no_json_is_a_bad_body(body: bytes) -> None:
    with pytest.raises(ApiError, match="bad request body") as refused:
        first_value(body)
    assert refused.value.status == 400


@pytest.mark.parametrize("value", [1.0, 1.5, "1", True, [], {}, 1 << 63])
def test_an_integer_must_be_written_as_one(value: object) -> None:
    with pytest.raises(ApiError, match="field a of type int64"):
        Fields.of({"a": value}).integer("a", 0)


@pytest.mark.parametrize("value", ["1", True, [], {}])
def test_a_real_number_may_be_whole_but_nothing_else(value: object) -> None:
    assert Fields.of({"a": 7}).real("a", 0) == 7
    with pytest.raises(ApiError, match="float32"):
        Fields.of({"a": value}).real("a", 0)


def test_a_real_number_has_the_precision_of_float32() -> None:
    assert Fields.of({"a": 0.1}).real("a", 0) == 0.1
    assert Fields.of({"a": 0.123456789012}).real("a", 0) == 0.12345679


def test_null_and_absence_leave_the_default() -> None:
    fields = Fields.of({"a": None})
    assert (fields.text("a", "was"), fields.flag("b", default=True)) == ("was", True)
    assert Fields.of(None).integer("a", 5) == 5


def test_a_list_is_read_object_by_object() -> None:
    assert [one.text("name", "") for one in objects([{"name": "x"}, {"name": "y"}])] == ["x", "y"]
    with pytest.raises(ApiError, match="array"):
        objects({"name": "x"})


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:80", Address("127.0.0.1", 80)),
        ("[::1]:80", Address("::1", 80)),
        (":80", Address("", 80)),
        ("localhost:0", Address("localhost", 0)),
    ],
)
def test_an_address_is_read_and_written_alike(text: str, address: Address) -> None:
    assert Address.parse(text) == address
    assert str(address) == text


@pytest.mark.parametrize("text", ["localhost", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", ""])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(BadAddress):
        Address.parse(text)


def test_localhost_is_the_loopback_of_ipv4() -> None:
    assert Address("localhost", 80).resolve() == Address("127.0.0.1", 80)
