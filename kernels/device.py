"""The GPUs we know by name, and what one multiprocessor of each architecture offers."""

from dataclasses import dataclass

KIB = 1024


@dataclass(frozen=True, slots=True)
class Architecture:
    """One compute capability: the limits that decide how many CTAs fit on a multiprocessor."""

    name: str
    capability: int  # as Triton's GPUTarget has it: 120 is compute capability 12.0
    threads_max: int
    blocks_max: int
    shared_bytes: int  # per multiprocessor
    shared_block_bytes_max: int  # what one CTA may opt in to
    carve_outs_kib: tuple[int, ...]  # how much of the L1 can be made shared memory
    barriers: int  # named barriers per multiprocessor
    registers: int = 65_536
    shared_reserved_bytes: int = KIB  # the driver's own part of each CTA
    tensor_columns: int = 0  # of tensor memory; 0: there is none


@dataclass(frozen=True, slots=True)
class Gpu:
    """A card that one can name on the command line."""

    name: str
    title: str
    architecture: Architecture
    multiprocessors: int


# Block limits, carve-outs and barriers: cuda_occupancy.h of CUDA 13. Threads and shared memory:
# the CUDA programming guide's table of compute capabilities (12.0 confirmed on no card by us).
_DATACENTER = (0, 8, 16, 32, 64, 100, 132, 164, 196, 228)
SM_90 = Architecture("sm_90", 90, 2048, 32, 228 * KIB, 227 * KIB, _DATACENTER, 64)
SM_100 = Architecture(
    "sm_100", 100, 2048, 32, 228 * KIB, 227 * KIB, _DATACENTER, 64, tensor_columns=512
)
SM_120 = Architecture("sm_120", 120, 1536, 24, 100 * KIB, 99 * KIB, (0, 8, 16, 32, 64, 100), 24)
ARCHITECTURES = (SM_120, SM_90, SM_100)  # the one that the kernels are tuned for comes first

GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu("rtx-pro-6000", "RTX PRO 6000 Blackwell", SM_120, 188),
        Gpu("rtx-5090", "GeForce RTX 5090", SM_120, 170),
        Gpu("rtx-5080", "GeForce RTX 5080", SM_120, 84),
        Gpu("h100", "H100 SXM", SM_90, 132),
        Gpu("h100-pcie", "H100 PCIe", SM_90, 114),
        Gpu("h200", "H200", SM_90, 132),
        Gpu("b200", "B200", SM_100, 148),
    )
}


def gpu(name: str) -> Gpu:
    """The named GPU; ValueError that lists them if there is no such name."""
    if name not in GPUS:
        raise ValueError(f"unknown GPU {name!r}: choose one of {', '.join(GPUS)}")
    return GPUS[name]
