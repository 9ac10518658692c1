"""Goal: a strike begins at its moment and at no other. Method: marks by hand."""

from __future__ import annotations

from chaos.experiment import Entering, Streaming
from chaos.stage import Stage
from chaos.trigger import Tripwire
from tests.chaos.table import marks


def tripped(on: Entering | Streaming, table: str) -> list[bool]:
    wire = Tripwire(on)
    return [wire.trips(one) for one in marks(table)]


def test_it_trips_when_the_request_enters_the_stage() -> None:
    table = """
        1 decode-0 stage r2 stage=transfer attempt=1
        2 decode-0 stage r1 stage=admit attempt=2
        3 decode-0 stage r1 stage=transfer attempt=2
    """
    assert tripped(Entering("r1", Stage.TRANSFER), table) == [False, False, True]


def test_an_attempt_is_the_nth_room_seen_whatever_its_number() -> None:
    table = """
        1 prefill-0 stage r1 stage=intake attempt=900
        2 decode-0  stage r1 stage=intake attempt=900
        3 prefill-1 stage r1 stage=intake attempt=17
    """
    assert tripped(Entering("r1", Stage.INTAKE, 2), table) == [False, False, True]
    assert tripped(Entering("r1", Stage.INTAKE, 1), table) == [True, True, False]


def test_the_client_tells_what_no_node_can() -> None:
    table = "1 client sent r1\n 2 client tokens r1 text=a"
    assert tripped(Entering("r1", Stage.CLIENT), table) == [True, False]
    assert tripped(Entering("r1", Stage.STREAM), table) == [False, True]


def test_a_stream_that_runs_is_one_of_which_the_client_has_a_piece() -> None:
    table = """
        1 decode-0 stage  r1 stage=stream attempt=2
        2 client   tokens r2 text=a
        3 client   tokens r1 text=a
    """
    assert tripped(Streaming("r1"), table) == [False, False, True]
    assert tripped(Entering("r1", Stage.STREAM), table) == [True, False, True]
