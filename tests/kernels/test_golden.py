"""The AOT table: read back as written, asked by name, and its complaints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernels import golden
from kernels.aot import order_complaints, table
from kernels.golden import Row

ROW = Row(
    configuration="mla_decode-bf16-spin_all",
    kernel="mla_decode_kernel",
    architecture="sm_120",
    threads=128,
    registers=158,
    spill_bytes=0,
    shared_bytes=56_320,
    barriers=1,
    tensor_columns=0,
    handshakes=("ld.global.gpu.acquire.b32", "red.global.gpu.release.add.u32"),
)


def test_a_table_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    rows = [ROW, replace(ROW, architecture="sm_90", spill_bytes=8, spill_reason="it is cold")]

    golden.save(rows, tmp_path / "table.json")

    assert golden.load(tmp_path / "table.json") == rows


def test_a_table_has_a_line_for_each_row_whatever_order_they_came_in(tmp_path: Path) -> None:
    rows = [ROW, replace(ROW, architecture="sm_90")]

    golden.save(rows, tmp_path / "one.json")
    golden.save(rows[::-1], tmp_path / "two.json")

    assert (tmp_path / "one.json").read_text() == (tmp_path / "two.json").read_text()
    assert len((tmp_path / "one.json").read_text().splitlines()) == 4


def test_without_a_table_the_reader_is_told_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="aot --update"):
        golden.load(tmp_path / "none.json")


def test_residency_comes_from_the_kernel_and_not_from_its_merge(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    merge = replace(ROW, kernel="merge_kernel", registers=40, shared_bytes=0)

    golden.save([merge, ROW], path)

    assert golden.resident_ctas("mla_decode-bf16-spin_all", "rtx-pro-6000", path) == 188
    assert golden.resident_ctas("mla_decode-bf16-spin_all", "rtx-5090", path) == 170


def test_the_shipped_table_has_nothing_to_complain_about() -> None:
    rows = golden.load()

    assert len(rows) > 50
    assert [line for row in rows for line in row.complaints() + order_complaints(row)] == []


def test_a_spill_needs_a_reason() -> None:
    spilling = replace(ROW, spill_bytes=44)

    assert "without a spill_reason" in spilling.complaints()[0]
    assert replace(spilling, spill_reason="outside of the loop").complaints() == []


def test_more_shared_memory_than_a_cta_can_have_is_a_complaint() -> None:
    assert "101376 allowed" in replace(ROW, shared_bytes=101_377).complaints()[0]
    assert replace(ROW, shared_bytes=101_376).complaints() == []


@pytest.mark.parametrize(
    ("kept", "lost"),
    [("ld.global.gpu.acquire.b32", "release"), ("red.global.gpu.release.add.u32", "acquire")],
)
def test_a_handshake_without_its_order_is_a_complaint(kept: str, lost: str) -> None:
    assert order_complaints(ROW) == []
    assert f"no {lost} in its PTX" in order_complaints(replace(ROW, handshakes=(kept,)))[0]


def test_a_change_is_one_line_per_value() -> None:
    after = replace(ROW, registers=160)

    assert golden.differences([ROW], [after]) == [
        "~ mla_decode-bf16-spin_all mla_decode_kernel sm_120: registers 158 -> 160"
    ]
    assert golden.differences([ROW], []) == [
        "- mla_decode-bf16-spin_all mla_decode_kernel sm_120: no longer compiled"
    ]
    assert golden.differences([ROW], [ROW]) == []


def test_the_reader_sees_the_reason_of_a_spill() -> None:
    row = replace(ROW, spill_bytes=44, spill_reason="outside of the loop")

    assert "spills, outside of the loop" in table([row])
