"""Goal: each CPU shim is still needed; one that is not must go.

Method: SGLang's own interpreter, with the shim and without it. Skipped where it is not installed.
"""

from __future__ import annotations

import os
import subprocess

import pytest

from stack.child_environment import child_environment
from stack.drivers.sglang_cpu.environment import SGLANG
from stack.drivers.sglang_program import SHIMS

ASK_MAX_S = 120.0
pytestmark = [
    pytest.mark.skipif(not SGLANG.installed(), reason="real SGLang is not installed"),
    pytest.mark.skipif(SGLANG.has_accelerator(), reason="with an accelerator no shim is used"),
]
STUB = "import sglang.srt.mem_cache.allocation, sglang.kernels.ops.kvcache.cache_move"
SENDER = (
    f"{STUB}, torch; "
    "from sglang.srt.disaggregation.mooncake.conn import MooncakeKVSender as sender; "
    "print(sender.supports_host_tensor_indices, torch.cuda.is_available())"
)


def asked(code: str, **variables: str) -> tuple[int, str]:
    """Exit code and the last line of what SGLang's interpreter printed, or complained of."""
    done = subprocess.run(
        [SGLANG.python, "-P", "-c", code],
        capture_output=True,
        text=True,
        timeout=ASK_MAX_S,
        check=False,
        env=child_environment({"HF_HUB_OFFLINE": "1", **variables}),
    )
    return done.returncode, ((done.stdout or done.stderr).strip().splitlines() or [""])[-1]


def test_without_the_stub_of_sgl_kernel_it_does_not_import() -> None:
    code, last = asked(STUB, SGLANG_USE_CPU_ENGINE="1")
    assert code != 0
    assert "No module named 'sgl_kernel'" in last


def test_with_it_the_sender_still_asks_for_pinned_memory_that_no_cpu_has() -> None:
    code, last = asked(SENDER, SGLANG_USE_CPU_ENGINE="1", PYTHONPATH=os.fspath(SHIMS))
    assert (code, last) == (0, "True False")
