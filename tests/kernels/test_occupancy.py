"""Our occupancy rules against NVIDIA's own header, compiled where it lies in the Triton wheel."""

from __future__ import annotations

import ctypes
import importlib.util
import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kernels.device import ARCHITECTURES, GPUS, SM_120, Architecture, gpu
from kernels.occupancy import Resources, ctas_per_multiprocessor, limits, resident_ctas

CASES = 4_000
COMPILE_S_MAX = 60
ASK = """
#include <climits>
#include <cstddef>
#include "cuda_occupancy.h"
// The same 8 facts about the card and 4 about the kernel that occupancy.py uses.
extern "C" int ctas(int major, int threads_max, int registers, int shared, int shared_block_max,
                    int reserved, int sms, int threads, int per_thread, int bytes, int barriers) {
    cudaOccDeviceProp card{};
    card.computeMajor = major;
    card.computeMinor = 0;
    card.maxThreadsPerBlock = 1024;
    card.maxThreadsPerMultiprocessor = threads_max;
    card.regsPerBlock = card.regsPerMultiprocessor = registers;
    card.warpSize = 32;
    card.sharedMemPerBlock = 48 * 1024;
    card.sharedMemPerMultiprocessor = shared;
    card.sharedMemPerBlockOptin = shared_block_max;
    card.reservedSharedMemPerBlock = reserved;
    card.numSms = sms;
    cudaOccFuncAttributes kernel{};
    kernel.maxThreadsPerBlock = INT_MAX;
    kernel.numRegs = per_thread;
    kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = bytes;
    kernel.numBlockBarriers = barriers;
    cudaOccDeviceState state{};
    cudaOccResult answer{};
    int failed = cudaOccMaxActiveBlocksPerMultiprocessor(&answer, &card, &kernel, &state, threads,
                                                         bytes);
    return failed ? -failed : answer.activeBlocksPerMultiprocessor;
}
"""


@pytest.fixture(scope="module")
def nvidia(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ to compile cuda_occupancy.h with")
    triton = importlib.util.find_spec("triton")
    assert triton is not None
    assert triton.origin is not None
    include = Path(triton.origin).parent / "backends" / "nvidia" / "include"
    folder = tmp_path_factory.mktemp("occupancy")
    source, library = folder / "ask.cpp", folder / "ask.so"
    source.write_text(ASK)
    command = [compiler, "-shared", "-fPIC", "-w", f"-I{include}", str(source), "-o", str(library)]
    subprocess.run(command, check=True, timeout=COMPILE_S_MAX, capture_output=True)
    return ctypes.CDLL(str(library))


def asked(nvidia: ctypes.CDLL, card: Architecture, need: Resources) -> int:
    return nvidia.ctas(
        card.capability // 10, card.threads_max, card.registers, card.shared_bytes,
        card.shared_block_bytes_max, card.shared_reserved_bytes, 100,
        need.threads, need.registers, need.shared_bytes, need.barriers,
    )  # fmt: skip


def drawn(dice: random.Random) -> Resources:
    return Resources(
        threads=dice.choice([32, 64, 96, 128, 160, 256, 384, 512, 1000, 1024]),
        registers=dice.randint(1, 255),
        shared_bytes=dice.choice([0, dice.randint(0, 8192), dice.randint(0, 240_000)]),
        barriers=dice.choice([0, 1, 2, 5, 16]),
    )


@pytest.mark.parametrize("card", ARCHITECTURES, ids=lambda card: card.name)
def test_the_port_says_what_nvidias_header_says(nvidia: ctypes.CDLL, card: Architecture) -> None:
    dice = random.Random(f"occupancy/{card.name}")
    needs = [drawn(dice) for _ in range(CASES)]

    wrong = [
        (need, asked(nvidia, card, need), ctas_per_multiprocessor(need, card))
        for need in needs
        if asked(nvidia, card, need) != ctas_per_multiprocessor(need, card)
    ]

    assert wrong == []


def test_a_rule_that_is_off_by_one_granule_is_found(nvidia: ctypes.CDLL) -> None:
    off = replace(SM_120, shared_reserved_bytes=SM_120.shared_reserved_bytes + 128)
    dice = random.Random("occupancy/control")
    needs = [drawn(dice) for _ in range(CASES)]

    assert any(asked(nvidia, SM_120, need) != ctas_per_multiprocessor(need, off) for need in needs)


def test_one_cta_more_shared_memory_than_allowed_cannot_be_launched() -> None:
    most = Resources(threads=128, registers=32, shared_bytes=101_376)

    assert ctas_per_multiprocessor(most, SM_120) == 1
    assert ctas_per_multiprocessor(replace(most, shared_bytes=101_377), SM_120) == 0


def test_tensor_memory_is_shared_out_where_there_is_some() -> None:
    card = gpu("b200").architecture
    need = Resources(threads=128, registers=32, shared_bytes=0, tensor_columns=256)

    assert limits(need, card)["tensor_memory"] == 2


def test_residency_is_per_multiprocessor_times_multiprocessors() -> None:
    need = Resources(threads=128, registers=158, shared_bytes=56_320)

    assert resident_ctas(need, gpu("rtx-pro-6000")) == 188


def test_every_named_gpu_has_an_architecture_that_is_compiled_for() -> None:
    assert {card.architecture for card in GPUS.values()} == set(ARCHITECTURES)
