"""What `doctor` looks at: one look per thing, bounded, and the cure where it is missing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from urllib.error import URLError
from urllib.request import urlopen

from chaos.requirements import program
from stack.drivers.sglang_cpu.environment import SGLANG
from stack.environments import NotInstalled
from stack.freezer import cgroup_root

LOOK_S = 10.0
INSTALL = "python3 -m pip install -c ci/constraints.txt -e '.[test]'"


@dataclass(frozen=True, slots=True)
class Symptom:
    """`look` says what was found, or nothing; `cure` what to do then."""

    name: str
    look: Callable[[], str | None]
    cure: str
    required: bool = False


def package(name: str) -> str:
    """The installed version, without importing anything."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def toxiproxy() -> str:
    """The real Toxiproxy: a server that already runs, or one that can be started."""
    url = os.environ.get("TOXIPROXY_URL", "")
    if url.startswith(("http://", "https://")):
        try:
            with urlopen(f"{url.rstrip('/')}/version", timeout=LOOK_S) as answer:  # noqa: S310 - http(s) only, checked above
                return f"at {url}: {answer.read(200).decode(errors='replace').strip()}"
        except (URLError, OSError):
            return ""
    return program("toxiproxy-server") or ""


def gpu() -> str:
    """Name and compute capability of each GPU, as the driver tells them."""
    query = program("nvidia-smi")
    if not query:
        return ""
    ask = [query, "--query-gpu=name,compute_cap", "--format=csv,noheader"]
    try:
        told = subprocess.run(  # noqa: S603 - a fixed program with fixed arguments
            ask, capture_output=True, text=True, timeout=LOOK_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return "; ".join(told.stdout.split("\n")).strip("; ")


def freezer() -> str:
    root = cgroup_root()
    return f"writable at {root}" if root else ""


def sglang() -> str:
    """Real SGLang in its own environment, of the version and with the pins that we know."""
    try:
        return f"{SGLANG.version} at {SGLANG.require().parents[1]}"
    except NotInstalled:
        return ""


SYMPTOMS = (
    Symptom("smg", partial(package, "smg"), INSTALL, required=True),
    Symptom("sglang-router", partial(package, "sglang-router"), INSTALL),
    Symptom("aiohttp", partial(package, "aiohttp"), INSTALL, required=True),
    Symptom("toxiproxy-python", partial(package, "toxiproxy-python"), INSTALL, required=True),
    Symptom("torch", partial(package, "torch"), INSTALL, required=True),
    Symptom("triton", partial(package, "triton"), f"{INSTALL} (Linux): kernels run on torch alone"),
    Symptom("toxiproxy", toxiproxy, "ci/setup toxiproxy; our embedded server stands in for it"),
    Symptom("gpu", gpu, "none seen by nvidia-smi: kernels run on the CPU, GPU tests skip"),
    Symptom("freezer", freezer, "no writable cgroup freezer (root?): freezing by signal only"),
    Symptom("sglang", sglang, "python -m stack install sglang: for --stack sglang (6 GB)"),
    Symptom("allure-pytest", partial(package, "allure-pytest"), INSTALL),
    Symptom("allure", partial(program, "allure"), "ci/setup allure: makes the HTML report"),
    Symptom("chromium", partial(program, "chromium"), "ci/setup chromium: looks at the report"),
)
