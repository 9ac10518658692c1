"""One launch to be judged: a shipped kernel with a plan, or a kernel that nobody has seen."""

from __future__ import annotations

import json
from dataclasses import dataclass

from kernels import shapes, splits, unseen
from kernels.device import Gpu, gpu
from kernels.occupancy import WARP

WARPS = 4  # of a CTA, unless a launch says otherwise: Triton's default


@dataclass(frozen=True, slots=True)
class Residency:
    """R as a range: how many CTAs are resident at once, at least and at most."""

    least: int
    most: int
    why: str  # what the range rests on

    def __str__(self) -> str:
        return f"{self.most}" if self.least == self.most else f"{self.least} to {self.most}"


@dataclass(frozen=True, slots=True)
class Case:
    """What is asked: does this grid, on a GPU with this residency, come to an end?"""

    title: str
    residency: Residency
    compile: tuple[str, ...]  # arguments of the compiling process
    plan: splits.SplitPlan | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A shipped launch as a user asks for it."""

    gpu: str
    kernel: str
    combine: str
    dtype: str
    target_ctas: str  # as in the environment; empty: one CTA per free slot
    context: int
    batch: int
    reserved_sms: int
    clamp: bool
    layout: str


def shipped(asked: Asked) -> Case:
    """ValueError that lists what there is, for an unknown GPU, kernel, combine or number."""
    shape = shapes.shape(asked.kernel)
    least, most = shape.residency_range(asked.combine, asked.dtype, asked.gpu, asked.reserved_sms)
    knob = {splits.TARGET_CTAS: asked.target_ctas}
    target = splits.target_ctas(knob, max(1, most))
    launch = shape.launch(asked.combine, asked.context, asked.batch)
    plan = splits.plan(launch, target, most, clamp=asked.clamp)
    held = f", {asked.reserved_sms} SMs held by something else" if asked.reserved_sms else ""
    call = {
        "kernel": asked.kernel, "combine": asked.combine, "dtype": asked.dtype,
        "splits": plan.splits, "layout": asked.layout, "context": asked.context,
        "batch": asked.batch,
    }  # fmt: skip
    why = _why(asked.reserved_sms)
    if least < most:
        why += (
            f"; below 48 KiB of shared memory the driver chooses the carve-out, so that {least} to "
            f"{most} can be resident"
        )
    return Case(
        f"{shape.name} ({shape.model}), {asked.dtype} KV, on {asked.gpu}{held}\nplan: {plan}",
        Residency(least, most, why),
        ("--capability", str(gpu(asked.gpu).architecture.capability), "--shipped",
         json.dumps(call)),
        plan,
    )  # fmt: skip


def _why(reserved_sms: int) -> str:
    kept = f"beyond the {reserved_sms} that are reserved" if reserved_sms else "(--reserved-sms)"
    return (
        f"R is an upper bound: no SM is taken {kept} by other kernels, MPS, green contexts or MIG"
    )


def unseen_case(source: str, launch: str | None, gpu_name: str | None, reserved_sms: int) -> Case:
    """ValueError for a source or launch file that does not say enough."""
    told = unseen.read(source, launch)
    given = ("--source", source, "--launch", str(launch))
    if gpu_name is not None:
        card = gpu(gpu_name)
        shapes.require_reserved(card, reserved_sms)
        given = ("--capability", str(card.architecture.capability), *given)
    if told.resident is not None and reserved_sms:
        raise ValueError("--reserved-sms: `resident` of the launch file says R already")
    if told.resident is not None:
        why = "R is what the launch file says"
        residency = told.resident
    elif told.ctas_per_sm is None or gpu_name is None:
        raise ValueError("the launch file needs `resident`, or `ctas_per_sm` and --gpu")
    else:
        _require_per_sm(gpu(gpu_name), told.ctas_per_sm, told.options.get("num_warps", WARPS))
        residency = told.ctas_per_sm * (gpu(gpu_name).multiprocessors - reserved_sms)
        why = _why(reserved_sms)
    return Case(
        f"{told.kernel} of {told.source.name}: grid {told.ctas}, residency {residency}",
        Residency(residency, residency, why),
        given,
    )


def _require_per_sm(card: Gpu, ctas: int, warps: int) -> None:
    """ValueError if a multiprocessor cannot hold so many CTAs, however little each takes."""
    architecture = card.architecture
    most = min(architecture.blocks_max, architecture.threads_max // (max(1, warps) * WARP))
    if ctas > most:
        raise ValueError(
            f"ctas_per_sm: at most {most} CTAs of {warps} warps fit on a multiprocessor of "
            f"{card.name}, not {ctas}"
        )
