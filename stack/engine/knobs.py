"""The single table of knobs: environment name, type, default, bounds, unit, guard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernels.device import GPUS
from kernels.splits import COMBINES, TARGET_CTAS, TARGET_CTAS_MAX

GUARDS = (
    "prefill_inflight_watchdog",
    "bootstrap_timeout",
    "waiting_timeout",
    "heartbeat_to_prefill",
    "heartbeat_to_decode",
    "abort_propagation",
    "skip_to_failed",
    "page_quarantine",
    "step_watchdog",
    "stream_idle_guard",
    "admission_bounds",
    "drain",
    "progress_health",
    "knob_validation",
    "kv_verification",
)
GUARDS_OFF = "PDCHAOS_GUARDS_OFF"
DAY_S = 86400.0

Value = float | int | bool | str


class BadKnob(ValueError):
    """A knob's text is not what the table allows."""


@dataclass(frozen=True, slots=True)
class Knob:
    """`default` decides the type. Numbers lie in [low, high]; texts are one of `words`."""

    env: str
    default: Value
    low: float = 0.0
    high: float = DAY_S
    unit: str = "s"
    guards: tuple[str, ...] = ()  # that it sets
    words: tuple[str, ...] = ()

    def parse(self, text: str) -> Value:
        """Raises BadKnob: what was expected, what came, where."""
        try:
            value = _PARSERS[type(self.default)](text)
        except ValueError:
            raise BadKnob(self.complaint(text)) from None
        if isinstance(value, str):
            fits = not self.words or value in self.words
        else:
            fits = self.low <= value <= self.high  # a NaN does not fit either
        if not fits:
            raise BadKnob(self.complaint(text))
        return value

    def complaint(self, text: str) -> str:
        if isinstance(self.default, bool):
            wanted = "0 or 1"
        elif isinstance(self.default, str):
            wanted = f"one of {', '.join(self.words)}" if self.words else "a text"
        else:
            kind = "an integer" if isinstance(self.default, int) else "a number"
            wanted = f"{kind} from {self.low:g} to {self.high:g} {self.unit}"
        return f"{self.env}: expected {wanted}, got {text!r} (environment variable)"


def _truth(text: str) -> bool:
    words = {"0": False, "false": False, "1": True, "true": True}
    if text.lower() not in words:
        raise ValueError(text)
    return words[text.lower()]


_PARSERS: Mapping[type, Callable[[str], Value]] = {
    float: float,
    int: int,
    bool: _truth,
    str: str,
}
_SGL = "SGLANG_DISAGGREGATION_"

TABLE: Mapping[str, Knob] = {
    "bootstrap_timeout_s": Knob(
        _SGL + "BOOTSTRAP_TIMEOUT", 300.0, 0.05, guards=("bootstrap_timeout",)
    ),
    "waiting_timeout_s": Knob(_SGL + "WAITING_TIMEOUT", 300.0, 0.05, guards=("waiting_timeout",)),
    "heartbeat_interval_s": Knob(
        _SGL + "HEARTBEAT_INTERVAL",
        5.0,
        0.05,
        guards=("heartbeat_to_prefill", "heartbeat_to_decode"),
    ),
    "heartbeat_failures_max": Knob(
        _SGL + "HEARTBEAT_MAX_FAILURE",
        2,
        1,
        1000,
        "misses",
        guards=("heartbeat_to_prefill", "heartbeat_to_decode"),
    ),
    "prefill_inflight_timeout_s": Knob(
        "PDCHAOS_PREFILL_INFLIGHT_TIMEOUT", 60.0, 0.05, guards=("prefill_inflight_watchdog",)
    ),
    "step_timeout_s": Knob(
        "PDCHAOS_STEP_TIMEOUT", 300.0, 0.05, guards=("step_watchdog", "progress_health")
    ),
    "stream_idle_timeout_s": Knob(
        "PDCHAOS_STREAM_IDLE_TIMEOUT", 300.0, 0.05, guards=("stream_idle_guard",)
    ),
    "abort_drain_timeout_s": Knob(
        "PDCHAOS_ABORT_DRAIN_TIMEOUT", 30.0, 0.05, guards=("page_quarantine",)
    ),
    "drain_timeout_s": Knob("PDCHAOS_DRAIN_TIMEOUT", 25.0, 0.05, guards=("drain",)),
    "queued_max": Knob("PDCHAOS_MAX_QUEUED", 256, 0, 1e6, "requests", guards=("admission_bounds",)),
    "running_max": Knob(
        "PDCHAOS_MAX_RUNNING", 64, 1, 4096, "requests", guards=("admission_bounds",)
    ),
    "kv_pages": Knob("PDCHAOS_KV_PAGES", 2048, 4, 1e6, "pages"),
    "page_size": Knob("PDCHAOS_PAGE_SIZE", 16, 1, 1024, "tokens"),
    "chunk_tokens": Knob("PDCHAOS_CHUNK_TOKENS", 128, 1, 1e6, "tokens"),
    "context_max": Knob(
        "PDCHAOS_CONTEXT_MAX", 8192, 8, 1e6, "tokens", guards=("admission_bounds",)
    ),
    "seed": Knob("PDCHAOS_SEED", 20260107, 0, 2**63 - 1, ""),
    "prefix_cache": Knob("PDCHAOS_PREFIX_CACHE", True, 0, 1, ""),
    "kernels": Knob("PDCHAOS_KERNELS", "reference", words=("reference", "triton", "interpret")),
    # The decode attention that a GPU would launch, see kernel_hang.
    "target_ctas": Knob(TARGET_CTAS, 64, 1, TARGET_CTAS_MAX, "CTAs"),
    "combine": Knob("PDCHAOS_SPLIT_COMBINE", "last_arriver", words=COMBINES),
    "clamp": Knob("PDCHAOS_SPLIT_CLAMP", "on", words=("on", "off")),
    "gpu": Knob("PDCHAOS_EMULATED_GPU", "rtx-pro-6000", words=tuple(GPUS)),
    # 0: as many as the compiled kernel has on that GPU; anything else overrules it.
    "resident_ctas": Knob("PDCHAOS_RESIDENT_CTAS", 0, 0, 65536, "CTAs"),
}


@dataclass(frozen=True, slots=True)
class Knobs:
    """Every knob's effective value; seconds unless the name says otherwise."""

    bootstrap_timeout_s: float
    waiting_timeout_s: float
    heartbeat_interval_s: float
    heartbeat_failures_max: int
    prefill_inflight_timeout_s: float
    step_timeout_s: float
    stream_idle_timeout_s: float
    abort_drain_timeout_s: float
    drain_timeout_s: float
    queued_max: int
    running_max: int
    kv_pages: int
    page_size: int
    chunk_tokens: int
    context_max: int
    seed: int
    prefix_cache: bool
    kernels: str
    target_ctas: int
    combine: str
    clamp: str
    gpu: str
    resident_ctas: int
    guards_off: frozenset[str]

    def on(self, guard: str) -> bool:
        return guard not in self.guards_off

    def effective(self) -> dict[str, Value]:
        """As environment names, to be read back by who set them."""
        values: dict[str, Value] = {knob.env: getattr(self, name) for name, knob in TABLE.items()}
        return {**values, GUARDS_OFF: ",".join(sorted(self.guards_off))}

    def by_guard(self) -> dict[str, dict[str, Value]]:
        """Each guard with the variables that it was read from and their effective values, so that
        whoever set one sees which guard listens to it."""
        read: dict[str, dict[str, Value]] = {}
        for name, knob in TABLE.items():
            for guard in knob.guards:
                read.setdefault(guard, {})[knob.env] = getattr(self, name)
        return read


def guards_off(environ: Mapping[str, str]) -> frozenset[str]:
    """Raises BadKnob for a name that is no guard: a typo would leave that guard on."""
    names = frozenset(filter(None, (n.strip() for n in environ.get(GUARDS_OFF, "").split(","))))
    unknown = sorted(names - set(GUARDS))
    if unknown:
        raise BadKnob(
            f"{GUARDS_OFF}: expected guards out of {', '.join(GUARDS)}, got {', '.join(unknown)}"
            " (environment variable)"
        )
    return names


def default_knobs(off: frozenset[str] = frozenset()) -> Knobs:
    return Knobs(
        **{name: knob.default for name, knob in TABLE.items()},  # pyright: ignore[reportArgumentType] - each default has its field's type; a test reads them all
        guards_off=off,
    )
