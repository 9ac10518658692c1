"""Histories written by hand, as tables: the reports are tested on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chaos.event import Event, Json, Kind
from chaos.history import History
from chaos.specification import Alert, Budgets, Specification, StrikeSpec
from chaos.stage import FaultKind, Stage
from chaos.verdict import Outcome, Verdict, caught_by

NS_PER_MS = 1_000_000
STRIKE = "1: stall the writer on prefill-0"
GAUGE = "prefill-0/sglang:num_prefill_inflight_queue_reqs"
Row = tuple[int, str, Kind, str, Stage | None, Mapping[str, Json]]


@dataclass
class Table:
    """Rows of (ms, actor, kind, about); seq is the row's place, from 1."""

    rows: list[Row] = field(default_factory=list[Row])

    def add(
        self,
        at_ms: int,
        actor: str,
        kind: Kind,
        about: str,
        stage: Stage | None = None,
        **detail: Json,
    ) -> Table:
        self.rows.append((at_ms, actor, kind, about, stage, detail))
        return self

    def history(self, spec: Specification) -> History:
        events = (
            Event(seq, at_ms * NS_PER_MS, actor, kind, about, stage, None, detail)
            for seq, (at_ms, actor, kind, about, stage, detail) in enumerate(self.rows, 1)
        )
        return History(tuple(events), spec)


def specification(name: str = "test_kv_transfer_stalled_mid_way") -> Specification:
    strike = StrikeSpec(
        STRIKE,
        "stall the writer on prefill-0",
        Stage.TRANSFER,
        FaultKind.FROZEN,
        "when attempt 1 of r1 enters transfer",
        8.0,
    )
    return Specification(
        name=name,
        seed=7,
        stack="embedded 1p1d smg",
        workload="steady",
        concurrency=4,
        budgets=Budgets(),
        guards={"prefill_inflight_watchdog": 2.0},
        alerts=(Alert("inflight pinned", "prefill-*/sglang:num_prefill_inflight*", "pinned"),),
        strikes=(strike,),
        allowed=(caught_by("prefill_inflight_watchdog"),),
    )


def hung() -> tuple[History, Verdict]:
    """r1 is stalled in its transfer and never ends; r2 is refused, r3 cancelled, r4 finishes."""
    table = _life_of_four()
    for at_ms in range(0, 9000, 500):
        table.add(at_ms + 100, "probe", Kind.READING, GAUGE, value=float(at_ms > 500))
    table.rows.sort(key=lambda row: row[0])
    history = table.history(specification())
    evidence = tuple(event.seq for event in history if event.about == "r1")
    verdict = Verdict(
        STRIKE,
        Outcome.SILENT,
        "r1 had not ended 6.00 s after it was struck, and no alert fired",
        after_s=6.0,
        evidence=evidence,
        stage="transfer",
        about=("r1",),
    )
    return history, verdict


def _life_of_four() -> Table:
    table = Table()
    table.add(0, "run", Kind.PHASE, "steady")
    table.add(600, "run", Kind.PHASE, "disturb")
    for index, request in enumerate(("r1", "r2", "r3", "r4")):
        table.add(600 + 40 * index, "client", Kind.SENT, request, prompt_bytes=64)
    table.add(640, "prefill-0", Kind.STAGE, "r1", Stage.PREFILL)
    table.add(650, "decode-0", Kind.STAGE, "r1", Stage.ADMIT)
    table.add(700, "prefill-0", Kind.STAGE, "r1", Stage.TRANSFER)
    table.add(705, "fault", Kind.STRUCK, STRIKE, bit=True, held="r1")
    table.add(2400, "prefill-0", Kind.STAGE, "r2", Stage.TRANSFER)
    table.add(2700, "prefill-0", Kind.GUARD, "r2", guard="prefill_inflight_watchdog", why="2 s")
    table.add(2710, "client", Kind.REFUSED, "r2", status=504)
    table.add(3000, "client", Kind.CANCELLED, "r3")
    table.add(3100, "decode-0", Kind.STAGE, "r4", Stage.STREAM)
    table.add(4000, "client", Kind.FINISHED, "r4", finish_reason="stop", tokens=8, done=True)
    table.add(5000, "decode-0", Kind.GUARD, "decode-0", guard="step_watchdog", why="no step")
    table.add(8705, "fault", Kind.HEALED, STRIKE, bit=True)
    table.add(8706, "run", Kind.PHASE, "heal")
    return table.add(8800, "run", Kind.PHASE, "converge")
