"""How many CTAs of a compiled kernel are resident at once: a port of NVIDIA's rules.

The source of the rules is cuda_occupancy.h (CUDA 13), which also lies in the Triton wheel; a test
compiles it there and compares. Tensor memory is not in that header: its columns are simply shared
out, as the PTX manual describes `tcgen05.alloc`.
"""

from dataclasses import dataclass

from kernels.device import KIB, Architecture, Gpu

WARP = 32
WARP_SCHEDULERS = 4
REGISTER_GRANULE = 256  # registers are handed to a warp in this many
SHARED_GRANULE_BYTES = 128
REGISTERS_PER_THREAD_MAX = 255
THREADS_PER_CTA_MAX = 1024
UNLIMITED = 1 << 30
OPT_IN_BYTES = 48 * KIB  # above it, shared memory must be asked for, and Triton does


@dataclass(frozen=True, slots=True)
class Resources:
    """What one CTA of a kernel takes."""

    threads: int
    registers: int  # per thread
    shared_bytes: int  # static and dynamic, without the driver's reserved part
    barriers: int = 1
    tensor_columns: int = 0


def ctas_per_multiprocessor(need: Resources, architecture: Architecture) -> int:
    """Resident CTAs of one multiprocessor; 0: it cannot be launched at all."""
    return max(0, min(limits(need, architecture).values()))


def ctas_at_least(need: Resources, architecture: Architecture) -> int:
    """As above, with the smallest carve-out that the driver may choose.

    Triton asks for the large one only when a CTA takes more than 48 KiB; below, it is the driver's
    choice, and one CTA must fit.
    """
    most = ctas_per_multiprocessor(need, architecture)
    if need.shared_bytes > OPT_IN_BYTES or need.shared_bytes == 0 or not most:
        return most
    taken = _round_up(need.shared_bytes + architecture.shared_reserved_bytes, SHARED_GRANULE_BYTES)
    fitting = [kib * KIB // taken for kib in architecture.carve_outs_kib]
    return min(most, *(ctas for ctas in fitting if ctas))


def resident_ctas(need: Resources, gpu: Gpu) -> int:
    """R: how many CTAs the whole GPU holds at once when nothing else runs on it."""
    return gpu.multiprocessors * ctas_per_multiprocessor(need, gpu.architecture)


def limits(need: Resources, architecture: Architecture) -> dict[str, int]:
    """For each resource, how many CTAs it would allow."""
    warps = -(-need.threads // WARP)
    return {
        "blocks": architecture.blocks_max if need.threads <= THREADS_PER_CTA_MAX else 0,
        "warps": architecture.threads_max // WARP // warps,
        "registers": _by_registers(warps, need.registers, architecture),
        "shared": _by_shared_memory(need.shared_bytes, architecture),
        "barriers": _share(architecture.barriers, need.barriers),
        "tensor_memory": _share(architecture.tensor_columns, need.tensor_columns),
    }


def _by_registers(warps: int, registers: int, architecture: Architecture) -> int:
    if registers == 0:
        return UNLIMITED
    if registers > REGISTERS_PER_THREAD_MAX:
        return 0
    per_warp = _round_up(registers * WARP, REGISTER_GRANULE)
    # The launch check assumes that a CTA's warps fill all schedulers evenly.
    if per_warp * _round_up(warps, WARP_SCHEDULERS) > architecture.registers:
        return 0
    warps_per_scheduler = architecture.registers // WARP_SCHEDULERS // per_warp
    return warps_per_scheduler * WARP_SCHEDULERS // warps


def _by_shared_memory(shared_bytes: int, architecture: Architecture) -> int:
    reserved = architecture.shared_reserved_bytes
    taken = _round_up(shared_bytes + reserved, SHARED_GRANULE_BYTES)
    if taken > architecture.shared_block_bytes_max + reserved:
        return 0
    return max(architecture.carve_outs_kib) * KIB // taken


def _share(available: int, needed: int) -> int:
    return available // needed if needed else UNLIMITED


def _round_up(value: int, granule: int) -> int:
    return -(-value // granule) * granule
