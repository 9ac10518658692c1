"""One launch to be judged: a shipped kernel with a plan, or a kernel that nobody has seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernels import scaled_launch, shapes, splits, unseen
from kernels.device import gpu


@dataclass(frozen=True, slots=True)
class Case:
    """What is asked: does this grid, on a GPU with this residency, come to an end?"""

    title: str
    grid: int
    residency: int
    prepare: Callable[[], Callable[[], object]]  # imports Triton; what it returns launches
    scan: tuple[str, ...]  # arguments of the scanning process
    scaling: tuple[scaled_launch.Scaled, ...] = ()
    plan: splits.SplitPlan | None = None
    layout: str = "tile_fastest"

    @property
    def expected_to_wait(self) -> bool:
        """Known of a shipped kernel, and held to the scan by a test."""
        return self.plan is not None and self.plan.launch.combine in splits.WAITING

    @property
    def order_free(self) -> bool:
        """Whether the arithmetic of a shipped kernel excludes a deadlock in any launch order."""
        plan = self.plan
        return plan is not None and (splits.waiting_max(plan.launch, plan.splits) < plan.residency)

    @property
    def fits(self) -> bool:
        return self.grid <= self.residency


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
    residency = shape.residency(asked.combine, asked.dtype, asked.gpu, asked.reserved_sms)
    knob = {splits.TARGET_CTAS: asked.target_ctas}
    target = splits.target_ctas(knob, max(1, residency))
    launch = shape.launch(asked.combine, asked.context, asked.batch)
    plan = splits.plan(launch, target, residency, clamp=asked.clamp)
    held = f", {asked.reserved_sms} SMs held by something else" if asked.reserved_sms else ""
    return Case(
        f"{shape.name} ({shape.model}), {asked.dtype} KV, on {asked.gpu}{held}\nplan: {plan}",
        plan.grid,
        residency,
        lambda: scaled_launch.runnable(shape, plan, asked.layout),
        ("--configuration", shape.row(asked.combine, asked.dtype)),
        scaled_launch.scaling(shape, plan, asked.dtype),
        plan,
        asked.layout,
    )


def unseen_case(source: str, launch: str | None, gpu_name: str | None, reserved_sms: int) -> Case:
    """ValueError for a source or launch file that does not say enough."""
    told = unseen.read(source, launch)
    residency = told.resident
    if residency is None:
        if told.ctas_per_sm is None or gpu_name is None:
            raise ValueError("the launch file needs `resident`, or `ctas_per_sm` and --gpu")
        residency = told.ctas_per_sm * (gpu(gpu_name).multiprocessors - reserved_sms)
    return Case(
        f"{told.kernel} of {told.source.name}: grid {told.ctas}, residency {residency}",
        told.ctas,
        residency,
        lambda: told.on("cpu"),
        ("--source", source, "--launch", str(launch)),
    )
