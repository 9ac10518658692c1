"""What surrounds the load of a drawn history: strikes, signals, phases, recovery, and holes."""

from __future__ import annotations

from chaos.event import Kind
from chaos.specification import Alert, StrikeSpec
from chaos.stage import FaultKind, Stage
from tests.chaos.second_opinion.draft import Draft, Note, digest

STRIKES = (
    ("S", FaultKind.LATE),
    ("S", FaultKind.LATE),
    ("kill decode-0", FaultKind.KILLED),
    ("freeze prefill-0", FaultKind.FROZEN),
    ("latency on router->decode-1", FaultKind.LATE),
    ("stall prefill-0->decode-0/kv", FaultKind.LATE),
)
INFLIGHT, QUEUE, WORKER, HEALTH = (
    "prefill-0/inflight",
    "decode-1/queue",
    "router/worker_health{decode-0}",
    "decode-0/health",
)
ALERTS = (
    Alert("inflight_pinned", "prefill-*/inflight", "pinned", for_s=1.0),
    Alert("queue_long", "decode-*/queue", ">", 0.0, for_s=0.5),
    Alert("worker_unhealthy", "router/worker_health{*}", "==", 0.0, for_s=0.2),
    Alert("metrics_unreadable", "decode-1/*", "unreadable", for_s=1.0),
    Alert("nobody_looks", "decode-9/x", ">", 0.0),
)
QUIET = {INFLIGHT: 0, QUEUE: 0, WORKER: 1, HEALTH: 200}
LOUD = {INFLIGHT: 1, QUEUE: 3, WORKER: 0, HEALTH: 503}
SAMPLE_S = 0.5


def draw_strikes(draft: Draft) -> None:
    rng = draft.rng
    for index in range(rng.choice((0, 1, 1, 1, 1, 2, 2, 3))):
        fault, kind = rng.choice(STRIKES)
        name = f"{index + 1}: {fault}"
        alive = kind is FaultKind.LATE and draft.chance(15)
        draft.strikes.append(
            StrikeSpec(name, fault, Stage.TRANSFER, kind, "at 1 s", 8.0, (), alive)
        )
        if draft.chance(5):
            continue
        began_s = rng.choice((0.31, 0.71, 1.31, 2.21, 3.41, 5.11, 8.31))
        healed_s = began_s + rng.choice((0.1, 0.8, 2.0, 5.0, 9.0, 14.0))
        entry_s = rng.choice((0.0, 0.0, 0.4))
        bit, still = draft.chance(95), draft.chance(90)
        draft.note(began_s + entry_s, "fault", Kind.STRUCK, name, bit=bit, entry_s=entry_s)
        draft.note(healed_s + entry_s, "fault", Kind.HEALED, name, bit=still and bit)


def draw_signals(draft: Draft) -> None:
    rng = draft.rng
    draft.alerts = [one for one in ALERTS[:4] if draft.chance(55)]
    if draft.chance(4):
        draft.alerts.append(ALERTS[4])
    for name in QUIET:
        on_s, over_s = 99.0, 99.0
        if draft.chance(45 if name != HEALTH else 8):
            on_s = rng.choice((0.5, 1.0, 2.0, 3.5, 5.0, 8.0))
            over_s = on_s + rng.choice((0.5, 1.0, 2.0, 6.0, 99.0, 99.0))
        _samples(draft, name, on_s, over_s)
    if draft.chance(5):
        draft.note_control(0.9, "signal", Kind.READING, INFLIGHT, value=1)
        draft.note_control(2.0, "signal", Kind.READING, INFLIGHT, value=1)


def _samples(draft: Draft, name: str, on_s: float, over_s: float) -> None:
    unreadable = name == QUEUE and draft.chance(20)
    probe = name if name == HEALTH else f"{name.partition('/')[0]}/metrics"
    draft.note_control(0.4, "signal", Kind.READING, name, value=QUIET[name], probe=probe)
    at_s = 0.4
    while at_s < draft.recover_s:
        loud = on_s <= at_s < over_s
        if loud and unreadable:
            draft.note(at_s, "signal", Kind.UNREADABLE, probe, why="no answer")
        else:
            value = (LOUD if loud else QUIET)[name]
            draft.note(at_s, "signal", Kind.READING, name, value=value, probe=probe)
        at_s = round(at_s + SAMPLE_S, 3)


def draw_phases(draft: Draft) -> None:
    """The control is over when its last request has ended; the run waits for a long time."""
    end_s = max((one.at_ns for one in draft.control), default=0) / 1e9 - 5.0 + 0.5
    for note, recover_s in ((draft.note, draft.recover_s), (draft.note_control, end_s)):
        note(0.0, "run", Kind.PHASE, "steady")
        note(0.1, "resource", Kind.READING, "prefill-0/pages", value=0)
        note(0.1, "resource", Kind.READING, "decode-0/pages", value=2, probe="decode-0/metrics")
        note(0.2, "run", Kind.PHASE, "disturb")
        note(recover_s - 0.2, "run", Kind.PHASE, "heal")
        note(recover_s - 0.1, "run", Kind.PHASE, "converge")
        note(recover_s, "run", Kind.PHASE, "recover")
    _serves(draft, draft.note_control, end_s)
    _rests(draft.note_control, end_s, (0, 2))
    _serves_or_not(draft)
    leaks = draft.chance(7)
    _rests(draft.note, draft.recover_s, (9 if leaks else 0, 2))
    if draft.chance(4):
        at_s = draft.recover_s + 3.0
        draft.note(at_s, "resource", Kind.UNREADABLE, "decode-0/metrics", why="no answer")


def _rests(note: Note, recover_s: float, pages: tuple[int, int]) -> None:
    note(recover_s + 2.0, "resource", Kind.READING, "prefill-0/pages", value=pages[0])
    note(
        recover_s + 2.0,
        "resource",
        Kind.READING,
        "decode-0/pages",
        value=pages[1],
        probe="decode-0/metrics",
    )
    note(recover_s + 8.0, "run", Kind.PHASE, "done")


def _probes(draft: Draft) -> list[str]:
    many = [f"recover/capacity-{draft.concurrency}/{i}" for i in range(draft.concurrency)]
    return ["recover/lone", *many]


def _serves(draft: Draft, note: Note, recover_s: float) -> None:
    for index, name in enumerate(_probes(draft)):
        _probe(note, name, recover_s + 0.3 * (1 + index), "finished")


def _serves_or_not(draft: Draft) -> None:
    names = _probes(draft)
    sick = draft.rng.choice(names) if draft.chance(8) else None
    unsent = draft.rng.choice(names) if draft.chance(4) else None
    how = draft.rng.choice(("refused", "broke", "never", "other"))
    for index, name in enumerate(names):
        if name != unsent:
            at_s = draft.recover_s + 0.3 * (1 + index)
            _probe(draft.note, name, at_s, how if name == sick else "finished")


def _probe(note: Note, name: str, at_s: float, how: str) -> None:
    note(
        at_s,
        "client",
        Kind.SENT,
        name,
        prompt_sha256=f"prompt of {name}",
        tokens_max=len(f"text of {name}"),
    )
    text = "another" if how == "other" else f"text of {name}"
    if how in ("finished", "other"):
        note(at_s + 0.1, "client", Kind.TOKENS, name, text=text)
        note(
            at_s + 0.2,
            "client",
            Kind.FINISHED,
            name,
            finish_reason="length",
            done=True,
            sha256=digest(text),
        )
    elif how == "refused":
        note(at_s + 0.2, "client", Kind.REFUSED, name, status=503)
    elif how == "broke":
        note(at_s + 0.2, "client", Kind.BROKE, name, how="transport")


def draw_holes(draft: Draft) -> None:
    """Seldom: each makes everything UNKNOWN, or what it could change."""
    at_s = draft.rng.choice((0.5, 3.0, 6.0, 12.0, draft.recover_s + 3.0))
    if draft.chance(1):
        draft.note(at_s, "run", Kind.TOOL_ERROR, "S", why="ours")
    if draft.chance(1):
        draft.note(at_s, "decode-0", Kind.LOST, "decode-0", count=3)
    if draft.chance(4):
        draft.note(at_s, "client", Kind.LAG, "load_generator", lag_s=draft.rng.choice((0.3, 0.6)))
    if draft.chance(4):
        node = draft.rng.choice(("decode-0", "prefill-1"))
        draft.note(at_s, node, Kind.GUARD, node, guard="step_watchdog", why="no step")
