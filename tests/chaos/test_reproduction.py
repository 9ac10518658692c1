"""Goal: what is printed can be pasted where the run was started, and plays the same experiment."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from chaos.reproduction import reproduction

HERE = Path("/somewhere/project")


def parts(file: str, test: str, *words: str, **options: str) -> list[str]:
    told = {f"--{name.replace('_', '-')}": text for name, text in options.items()}
    return shlex.split(reproduction(Path(file), test, told, words, HERE))


def test_the_file_is_named_from_where_the_user_stands() -> None:
    assert parts("/somewhere/project/suites/test_x.py", "test_y") == [
        "pytest",
        "suites/test_x.py::test_y",
    ]
    outside = parts("/somewhere/else/test_x.py", "test_y")[1]
    assert outside == f"..{os.sep}else{os.sep}test_x.py::test_y"


def test_whatever_a_test_or_an_option_is_called_a_shell_reads_it_as_one_word() -> None:
    test = "test_y[a b's $HOME; rm -rf *]"
    assert parts("/somewhere/project/my suites/t.py", test, seed="0; ls") == [
        "pytest",
        f"my suites/t.py::{test}",
        "--seed",
        "0; ls",
    ]


def test_options_that_decide_what_pytest_finds_are_kept_and_no_others() -> None:
    words = ("-c", "pyproject.toml", "--rootdir=.", "-q", "suites/", "-k", "x")
    assert parts("/somewhere/project/t.py", "test_y", *words, router="sglang-router") == [
        *("pytest", "t.py::test_y", "-c", "pyproject.toml", "--rootdir=."),
        *("--router", "sglang-router"),
    ]
