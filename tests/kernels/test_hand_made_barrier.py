"""TensorRT-LLM#14376: a barrier by hand, in a launch that no card promises to hold at once."""

from __future__ import annotations

from pathlib import Path

from tests.kernels.test_prove import launch_file, prove

ONE_ORDER = 3  # nothing is said of the others
KERNEL = Path(__file__).with_name("hand_made_barrier.py")


def launch(folder: Path, grid: str, along: int) -> str:
    """Eight blocks of four splits, of which eight CTAs are resident."""
    return launch_file(
        folder,
        f"""
        grid = {grid}
        resident = 8
        [arguments]
        arrived = {{dtype = "int32", shape = [8]}}
        sums = {{dtype = "int32", shape = [32]}}
        splits = 4
        along = {along}
        [options]
        num_warps = 4
        """,
    )


def asked(folder: Path, grid: str, along: int, order: str) -> tuple[int, str]:
    words = "--source", f"{KERNEL}:reduce_rows", "--launch", launch(folder, grid, along)
    return prove(*words, "--order", order)


def test_where_the_first_eight_are_one_split_of_each_block_it_never_ends(tmp_path: Path) -> None:
    code, said = asked(tmp_path, "[8, 4]", 1, "in-order")
    assert code == 1, said
    assert "DEADLOCK, proven" in said


def test_where_they_are_whole_blocks_it_ends_in_that_order_and_says_that_others_may_not(
    tmp_path: Path,
) -> None:
    code, said = asked(tmp_path, "[4, 8]", 0, "in-order")
    assert code == ONE_ORDER, said
    assert "FINISHED IN ONE ORDER: launched in order" in said


def test_and_in_another_order_of_the_same_launch_it_never_ends(tmp_path: Path) -> None:
    code, said = asked(tmp_path, "[4, 8]", 0, "seeded")
    assert code == 1, said
    assert "DEADLOCK, proven" in said
