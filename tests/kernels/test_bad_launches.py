"""What a launch file and an unknown source can get wrong: one line that says what was expected."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROVE_S_MAX = 300.0  # some 3 s alone on the machine
GOOD = {
    "grid": "[4]",
    "resident": "8",
    "counter": '{dtype = "int32", shape = [1]}',
    "out": '{dtype = "int32", shape = [4]}',
    "total": "4",
}
KERNEL = """
import triton
import triton.language as tl


@triton.jit
def barrier(counter, out, total):
    tl.atomic_add(counter, 1)
    while tl.atomic_add(counter, 0) < total:
        pass
    tl.store(out + tl.program_id(0), 1)


@triton.jit
def reads_far(counter, out, total):
    while tl.load(counter + 1_000_000, volatile=True) < total:
        pass


@triton.jit
def stepping(counter, out, total, step: tl.constexpr):
    tl.atomic_add(counter, step)
"""


def prove(
    folder: Path, launch: str, source: str = KERNEL, kernel: str = "barrier",
    flags: tuple[str, ...] = (),
) -> tuple[int, str]:  # fmt: skip
    (folder / "mine.py").write_text(source, encoding="utf-8")
    (folder / "launch.toml").write_text(launch, encoding="utf-8")
    child = subprocess.run(
        [sys.executable, "-m", "kernels", "prove", "--source", f"{folder / 'mine.py'}:{kernel}",
         "--launch", str(folder / "launch.toml"), "--within-s", "200", *flags],
        cwd=ROOT, capture_output=True, text=True, timeout=PROVE_S_MAX, check=False,
    )  # fmt: skip
    return child.returncode, child.stdout + child.stderr


def launch(options: str = "", **changed: str | None) -> str:
    """A good launch file but for what is changed; None leaves a line out."""
    told = {**GOOD, **changed}
    lines = [f"{key} = {told[key]}" for key in ("grid", "resident") if told[key] is not None]
    lines.append("[arguments]")
    lines += [f"{k} = {v}" for k, v in told.items() if k not in {"grid", "resident"} and v]
    return "\n".join([*lines, options]) + "\n"


def test_the_good_launch_is_safe(tmp_path: Path) -> None:
    code, said = prove(tmp_path, launch())

    assert (code, "SAFE" in said) == (0, True), said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (launch(grid="[4, 1, 1, 1]"), "grid: expected 1 to 3 numbers"),
        (launch(grid="[true]"), "grid: expected 1 to 3 numbers of at least 1, not [True]"),
        (launch(grid="[0]"), "of at least 1, not [0]"),
        (launch(grid="[1, 70000]"), "grid: at most 65535 in that dimension"),
        (launch(grid="[3000000000]"), "grid: at most 2147483647"),
        (launch(resident="true"), "resident: expected a number of at least 1, not True"),
        (launch(counter='{dtype = "int33", shape = [1]}'), "dtype 'int33': choose one of"),
        (launch(counter='{dtype = "int32", shape = [true]}'), "shape: expected 1 to 5 numbers"),
        (launch(counter='{dtype = "int32", shape = [1], fil = 1}'), "unknown fil; known: dtype"),
        (launch(counter='{dtype = "int32", shape = [1], fill = "ones"}'), "fill 'ones': a number"),
        (launch(counter='{dtype = "int32", shape = [1], fill = true}'), "fill True: a number"),
        (launch(counter='{dtype = "int32", shape = [1], fill = 0.5}'), "whole numbers from"),
        (launch(counter='{dtype = "int32", shape = [1], fill = nan}'), "-2147483648 to 2147483647"),
        (launch(counter='{dtype = "int8", shape = [1], fill = 300}'), "from -128 to 127, not 300"),
        (launch(counter='{dtype = "int8", shape = [129], fill = "arange"}'), "to 127, not 128"),
        (launch(counter='{dtype = "int32", shape = [1], fill = "random"}'), "int32 holds none"),
        (launch(counter="{shape = [1]}"), "dtype 'None': choose one of"),
        (launch(total="'four'"), "expected a number, or dtype, shape and fill, not 'four'"),
        (launch(total="99999999999999999999"), "does not fit into 64 bits"),
        ("grid = [4]\nresident = 8\narguments = 5\n", "arguments: expected a table, not 5"),
        ("grid = [4]\nresident = 8\noptions = 5\n", "options: expected a table, not 5"),
        ("grid = [4]\nresidents = 8\n", "unknown residents; known: arguments"),
        ("grid = [4\n", "not TOML"),
        (launch("[options]\nnum_warps = 2.5"), "num_warps: expected a number, not 2.5"),
    ],
)
def test_a_launch_file_is_checked_before_anything_is_imported(
    tmp_path: Path, text: str, said: str
) -> None:
    code, came = prove(tmp_path, text, source="raise SystemExit(0)")

    assert code == 2, came
    assert said in came
    assert "Traceback" not in came


@pytest.mark.parametrize(
    ("text", "kernel", "said"),
    [
        (launch(), "barier", "mine.py has no kernel 'barier': it has barrier, reads_far, stepping"),
        (launch(total=None), "barrier", "barrier also takes total: the launch file has none"),
        (launch(totl="4"), "barrier", "barrier takes counter, out, total, not totl"),
        (launch("[options]\nnum_warps = 3"), "barrier", "num_warps: expected a power of two"),
        (launch("[options]\nnum_warps = 64"), "barrier", "num_warps: expected 1 to 32"),
        (launch("[options]\nnum_warp = 4"), "barrier", "Triton has no option num_warp"),
        (launch("[options]\nnum_stages = true"), "barrier", "num_stages: expected 1 to 16"),
        (launch("[options]\nnum_ctas = 2"), "barrier", "num_ctas: expected 1: how many clusters"),
        (launch(total="true"), "barrier", "total: expected a number, not a boolean"),
        (launch(counter="5"), "barrier", "Triton refuses barrier: at 2:4: / Unsupported ptr"),
        (launch(step='{dtype = "int32", shape = [1]}'), "stepping", "step is a constant, not a"),
    ],
)
def test_a_launch_is_checked_against_its_kernel_also_when_it_fits(
    tmp_path: Path, text: str, kernel: str, said: str
) -> None:
    code, came = prove(tmp_path, text, kernel=kernel)

    assert code == 2, came
    assert said in came
    assert "Traceback" not in came


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        ("def broken(:\n", 2, "cannot be imported: SyntaxError"),
        ("import no_such_module_of_mine\n", 2, "cannot be imported: ModuleNotFoundError"),
        ("import sys\nsys.exit(0)\n", 3, "ended the process with exit code 0, before anything"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", 3, "killed by SIGSEGV"),
        ("import os\nos._exit(7)\n", 3, "exit code 7"),
        ("print('SAFE')\nbarrier = 5\n", 2, "has no kernel 'barrier'"),
        (KERNEL.replace("        pass\n", "        break\n"), 2, "Triton refuses barrier"),
    ],
)
def test_a_source_that_goes_wrong_is_an_answer_and_never_a_verdict(
    tmp_path: Path, source: str, code: int, said: str
) -> None:
    came = prove(tmp_path, launch(), source)

    assert came[0] == code, came
    assert said in came[1]
    assert "Traceback" not in came[1]


@pytest.mark.parametrize(
    ("r", "flags", "said"),
    [
        ("resident = 8", ("--reserved-sms", "-400"), "`resident` of the launch file says R"),
        ("resident = 8", ("--reserved-sms", "5"), "`resident` of the launch file says R"),
        ("ctas_per_sm = 1", ("--gpu", "rtx-5090", "--reserved-sms", "171"), "expected 0 to 170"),
        ("ctas_per_sm = 1", (), "needs `resident`, or `ctas_per_sm` and --gpu"),
        ("ctas_per_sm = 13", ("--gpu", "rtx-5090"), "at most 12 CTAs of 4 warps fit"),
        ("ctas_per_sm = true", ("--gpu", "rtx-5090"), "expected a number of at least 1, not True"),
    ],
)
def test_an_r_that_no_gpu_has_is_refused(
    tmp_path: Path, r: str, flags: tuple[str, ...], said: str
) -> None:
    code, came = prove(tmp_path, launch().replace("resident = 8", r), flags=flags)

    assert code == 2, came
    assert said in came
    assert "Traceback" not in came


def test_an_access_behind_the_end_of_a_tensor_is_named(tmp_path: Path) -> None:
    code, said = prove(tmp_path, launch(), kernel="reads_far")

    assert code == 3
    assert "counter[1000000] is accessed, which has 1 at mine.py:" in said


def test_a_source_that_never_comes_back_is_not_proven(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("while True:\n    pass\n", encoding="utf-8")
    (tmp_path / "launch.toml").write_text(launch(), encoding="utf-8")

    child = subprocess.run(
        [sys.executable, "-m", "kernels", "prove", "--source", f"{tmp_path / 'mine.py'}:barrier",
         "--launch", str(tmp_path / "launch.toml"), "--within-s", "3"],
        cwd=ROOT, capture_output=True, text=True, timeout=PROVE_S_MAX, check=False,
    )  # fmt: skip

    assert child.returncode == 3
    assert "it did not compile within 3 s" in child.stdout
