"""Parallel workers of pytest take different cards."""

from __future__ import annotations

import pytest

from stack.gpu_lease import leased_gpu


@pytest.mark.parametrize(
    ("environ", "card"),
    [
        ({"CUDA_VISIBLE_DEVICES": "0,1", "PYTEST_XDIST_WORKER": "gw0"}, "0"),
        ({"CUDA_VISIBLE_DEVICES": "0,1", "PYTEST_XDIST_WORKER": "gw1"}, "1"),
        ({"CUDA_VISIBLE_DEVICES": "0,1", "PYTEST_XDIST_WORKER": "gw2"}, "0"),
        ({"CUDA_VISIBLE_DEVICES": "GPU-a, GPU-b", "PYTEST_XDIST_WORKER": "gw1"}, "GPU-b"),
        ({"CUDA_VISIBLE_DEVICES": "3"}, "3"),
    ],
)
def test_a_worker_sees_one_card(environ: dict[str, str], card: str) -> None:
    assert leased_gpu(environ) == {"CUDA_VISIBLE_DEVICES": card}


@pytest.mark.parametrize("environ", [{}, {"CUDA_VISIBLE_DEVICES": ""}])
def test_where_no_card_is_named_cuda_decides(environ: dict[str, str]) -> None:
    assert leased_gpu(environ) == {}
