"""`python -m kernels sweep`: tables, zones, where a grid first exceeds R, and the picture."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from kernels.shapes import SHAPES, shape
from kernels.sweep import Setting, overflows, table
from kernels.sweep_picture import COLOURS, Panel, picture

ROOT = Path(__file__).parents[2]
SWEEP_S_MAX = 60.0
SVG = "{http://www.w3.org/2000/svg}"


def setting(
    name: str = "gqa_decode",
    combine: str = "spin_all",
    batch: int = 1,
    reserved_sms: int = 0,
    *,
    clamp: bool = False,
) -> Setting:
    return Setting(shape(name), combine, "bf16", "rtx-pro-6000", batch, reserved_sms, clamp)


def sweep(*arguments: str) -> tuple[int, str]:
    child = subprocess.run(
        [sys.executable, "-m", "kernels", "sweep", *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=SWEEP_S_MAX, check=False,
    )  # fmt: skip
    return child.returncode, child.stdout + child.stderr


def test_a_row_can_be_dead_at_6k_safe_at_9000_and_dead_at_16k() -> None:
    lines = table(setting(), [512], [4096, 6144, 9000, 16384])

    assert lines[2].split() == ["512", "deadlock", "deadlock", "safe", "deadlock"]
    assert any("safe again at 4097..6016, 8193..9024" in line for line in lines)


def test_a_mode_that_waits_for_nobody_is_safe_everywhere() -> None:
    lines = table(setting(combine="last_arriver"), [512, 1024], [512, 131072])

    assert all(set(line.split()[1:]) == {"safe"} for line in lines[2:])


def test_reserved_sms_turn_a_safe_cell_into_a_deadlock() -> None:
    alone = setting("mla_decode", "grid_barrier").outcome(184, 131072)
    beside = setting("mla_decode", "grid_barrier", reserved_sms=5).outcome(184, 131072)

    assert (alone, beside) == ("safe", "deadlock")


def test_all_sms_reserved_is_refused_and_the_clamp_leaves_no_deadlock() -> None:
    none_left = setting("mla_decode", reserved_sms=188).outcome(512, 131072)
    clamped = table(setting("mla_decode", clamp=True), [512, 1024], [512, 131072])

    assert none_left == "refused"
    assert "deadlock" not in "\n".join(clamped)


def test_every_shape_states_where_its_grid_first_exceeds_r_or_that_none_does() -> None:
    settings = [setting(name) for name in SHAPES]
    lines = list(overflows(settings, [184, 512], 131072))

    stated = [line for line in lines if "TARGET_CTAS=" in line]
    assert len(stated) == 2 * len(SHAPES)
    assert all("none does" in line or "batch 1, context" in line for line in stated)
    assert any(line.endswith("TARGET_CTAS=512: batch 1, context 737") for line in stated)


def test_zones_of_sparse_attention_are_contexts_and_not_rows() -> None:
    tp4 = setting("v4_decode-tp4-topk", batch=16)

    lines = table(tp4, [512], [1027, 1028])

    assert lines[2].split() == ["512", "safe", "deadlock"]
    assert "  512: deadlocks at contexts 1028..1028" in lines


def test_the_incidents_model_does_not_exceed_r_with_one_request() -> None:
    lines = list(overflows([setting("v4_decode-tp4-topk", batch=16)], [512], 131072))

    assert lines[-1].endswith("TARGET_CTAS=512: batch 10, context 1796")


def test_the_picture_has_a_panel_per_setting_and_names_its_colours(tmp_path: Path) -> None:
    path = tmp_path / "sweep.svg"

    code, said = sweep(
        "--kernel", "mla_decode", "--kernel", "gqa_decode", "--batch", "1,2",
        "--context", "512,131072", "--picture", str(path),
    )  # fmt: skip

    assert code == 0, said
    drawn = ET.fromstring(path.read_text(encoding="utf-8"))  # noqa: S314 - we have just written it
    texts = [node.text or "" for node in drawn.iter(f"{SVG}text")]
    fills = {node.get("fill") for node in drawn.iter(f"{SVG}rect")}
    assert len(drawn.findall(f"{SVG}g")) == 4
    assert {"deadlock", "safe in every launch order"} <= set(texts)
    assert {COLOURS["safe"], COLOURS["deadlock"]} <= fills


def test_a_zone_in_the_picture_is_as_wide_as_it_is_in_the_table() -> None:
    panel = Panel("one row", 8, [256, 1024, 4096], {64: ["safe", "deadlock", "safe"]})

    drawn = ET.fromstring(picture([panel], "R"))  # noqa: S314 - we have just written it

    red = [r for r in drawn.iter(f"{SVG}rect") if r.get("fill") == COLOURS["deadlock"]]
    assert [each.get("width") for each in red] == ["12", "150.0"]  # legend, and half of the row


@pytest.mark.parametrize(
    ("wrong", "listed"),
    [
        (("--gpu", "rtx-9999"), "rtx-pro-6000"),
        (("--kernel", "flash"), "mla_decode"),
        (("--target-ctas", "64,x"), "a whole number from 1"),
        (("--context", "1k"), "whole numbers with commas"),
        (("--combine", "spin"), "two_pass"),
        (("--batch", "0"), "at least 1"),
    ],
)
def test_bad_usage_is_exit_2_and_says_what_is_supported(
    wrong: tuple[str, str], listed: str
) -> None:
    code, said = sweep(*wrong)

    assert code == 2
    assert listed in said
