"""Goal: a text names the nodes that it names, and no others. Method: a table."""

from __future__ import annotations

import pytest

from chaos.target import Target, targets


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("kill decode-0", [("decode-0",)]),
        ("kill decode-01", [("decode-01",)]),
        ("kill old-decode-0", [("old-decode-0",)]),
        ("kill decode-0-old", []),
        ("1: kill prefill-0 while transfer is held", [("prefill-0",)]),
        ("SGLANG_X=512 on decode", [("decode",)]),
        ("latency on prefill-0->decode-0/kv", [("prefill-0", "decode-0")]),
        ("stall prefill->decode/kv", [("prefill", "decode")]),
        ("router/smg_worker_health{decode-0}", [("router",), ("decode-0",)]),
        ("prefill-0/sglang:num_prefill_inflight_queue_reqs", [("prefill-0",)]),
        ("decode-0,decode-1", [("decode-0",), ("decode-1",)]),
        ("64 bodies leaked at byte 200", []),
        ("S1", []),
    ],
)
def test_what_a_text_names(text: str, ends: list[tuple[str, ...]]) -> None:
    assert [one.ends for one in targets(text)] == ends


def test_a_role_names_each_of_its_nodes_and_a_node_only_itself() -> None:
    assert [Target(("decode",)).names(one) for one in ("decode-0", "decode-7", "prefill-0")] == [
        True,
        True,
        False,
    ]
    assert not Target(("decode-0",)).names("decode-1")


def test_only_a_target_with_a_number_is_a_worker() -> None:
    assert Target(("router", "decode-0")).is_worker
    assert not Target(("router",)).is_worker
