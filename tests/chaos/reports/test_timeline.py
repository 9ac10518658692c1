"""The picture: everything is in it, nothing lies upon another, and it is well-formed."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree as ET

from chaos.event import Event, Kind
from chaos.history import History
from chaos.reports.palette import ENDINGS, GUARD, HUNG
from chaos.reports.svg import width_px
from chaos.reports.timeline import REQUESTS_MAX, WIDTH_PX, timeline_svg
from chaos.stage import Stage
from chaos.verdict import Outcome
from tests.chaos.reports.hand_written import GAUGE, NS_PER_MS, Table, hung, specification

SVG = "{http://www.w3.org/2000/svg}"
Box = tuple[float, float, float, float]


def drawn(history: History, *, outcome: Outcome = Outcome.SILENT) -> ET.Element:
    _, verdict = hung()
    picture = timeline_svg(history, [replace(verdict, outcome=outcome)])
    return ET.fromstring(picture)  # noqa: S314 - we have just drawn it ourselves


def words(picture: ET.Element) -> list[str]:
    return [element.text or "" for element in picture.iter(f"{SVG}text")]


def boxes(picture: ET.Element) -> list[tuple[str, Box]]:
    """Each text's box, by the estimate that holds for wide fonts; groups are not moved here."""
    found: list[tuple[str, Box]] = []
    for element in picture.iter(f"{SVG}text"):
        size, text = float(element.get("font-size", 0)), element.text or ""
        width = width_px(text, size)
        x, y = float(element.get("x", 0)), float(element.get("y", 0))
        x -= {"end": width, "middle": width / 2}.get(element.get("text-anchor", ""), 0.0)
        found.append((text, (x, y - size * 0.8, x + width, y + size * 0.2)))
    return found


def overlapping(picture: ET.Element) -> list[tuple[str, str]]:
    return [
        (one, two)
        for (one, a), (two, b) in combinations(boxes(picture), 2)
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]


def test_requests_faults_guards_signals_and_phases_are_all_named() -> None:
    shown = words(drawn(hung()[0]))
    for wanted in ("r1", "r2", "r3", "r4", "1: stall the writer on prefill-0", "steady", "disturb"):
        assert wanted in shown
    for wanted in ("prefill_inflight_watchdog", "step_watchdog", "guards on nodes", "transfer"):
        assert wanted in shown
    assert any("num_prefill_inflight" in one for one in shown)
    assert "SILENT in 6.00 s, not allowed" in shown


def test_each_ending_has_its_colour_and_a_hang_is_dashed_to_the_edge() -> None:
    picture = drawn(hung()[0])
    colours = {line.get("stroke") for line in picture.iter(f"{SVG}line")}
    wanted = {ENDINGS[kind] for kind in (Kind.FINISHED, Kind.REFUSED, Kind.CANCELLED)}
    assert wanted | {HUNG} <= colours
    hangs = [one for one in picture.iter(f"{SVG}g") if "never ended" in (one[0].text or "")]
    assert [one[0].text for one in hangs] == ["r1: sent, and never ended"]


def test_a_guard_is_a_diamond_that_tells_why() -> None:
    tips = [one.text or "" for one in drawn(hung()[0]).iter(f"{SVG}title")]
    assert "prefill-0: guard prefill_inflight_watchdog: why 2 s" in tips
    assert any(path.get("fill") == GUARD for path in drawn(hung()[0]).iter(f"{SVG}path"))


def test_no_text_lies_upon_another_nor_leaves_the_page() -> None:
    picture = drawn(hung()[0])
    assert overlapping(picture) == []
    assert all(box[0] >= 0 and box[2] <= WIDTH_PX + 1 for _, box in boxes(picture))


def test_no_text_lies_upon_another_when_everything_happens_at_once() -> None:
    table = Table()
    for index in range(12):
        request = f"a-request-with-a-rather-long-name-{index}"
        table.add(index, "client", Kind.SENT, request)
        for stage in Stage:
            actor = "decode-0" if stage.value > "h" else "prefill-0"
            table.add(index + 5, actor, Kind.STAGE, request, stage)
        table.add(40, "decode-0", Kind.GUARD, request, guard="waiting_timeout", why="late")
        table.add(41, "prefill-0", Kind.GUARD, request, guard="bootstrap_timeout", why="late")
        table.add(50 + index, "client", Kind.BROKE, request, why="reset", how="transport")
    for name in ("steady", "disturb", "heal", "converge", "recover", "done"):
        table.add(60, "run", Kind.PHASE, name)
    table.rows.sort(key=lambda row: row[0])
    picture = drawn(table.history(specification("a test whose name is " + "very " * 40 + "long")))
    assert overlapping(picture) == []


def test_an_alert_is_marked_at_the_last_reading_of_its_proof() -> None:
    history, verdict = hung()
    readings = [event for event in history if event.about == GAUGE]
    surfaced = replace(
        verdict, outcome=Outcome.SURFACED, by="inflight pinned", evidence=(readings[5].seq,)
    )
    picture = ET.fromstring(timeline_svg(history, [surfaced]))  # noqa: S314 - drawn by ourselves
    assert "inflight pinned" in words(picture)
    assert "inflight pinned" not in words(drawn(history))


def test_what_a_stack_says_cannot_break_the_picture() -> None:
    table = Table().add(0, "client", Kind.SENT, "<r1> & 'co'")
    table.add(5, "decode-0", Kind.GUARD, "<r1> & 'co'", guard="</g>", why='"<script>" \x1b[2J')
    picture = drawn(table.history(specification("<svg onload='x'>\x07")))
    assert picture.find(f".//{SVG}script") is None
    assert "<r1> & 'co'" in words(picture)


def test_a_history_without_events_is_still_a_picture() -> None:
    empty = History((), specification())
    assert "not judged" in timeline_svg(empty)


def test_the_affected_requests_are_shown_when_not_all_fit() -> None:
    events = tuple(
        Event(index, index * NS_PER_MS, "client", kind, f"q{index // 2}")
        for index, kind in enumerate([Kind.SENT, Kind.FINISHED] * 100)
    )
    hang = Event(1000, 1000 * NS_PER_MS, "client", Kind.SENT, "r1")
    shown = words(drawn(History((*events, hang), specification())))
    assert "r1" in shown
    assert f"{101 - REQUESTS_MAX} more requests without a row" in shown


def test_a_strike_that_did_not_bite_or_never_healed_says_so() -> None:
    table = Table().add(0, "fault", Kind.STRUCK, "1: kill", bit=False)
    table.add(10, "client", Kind.SENT, "r1")
    assert "1: kill (did not bite) (never healed)" in words(drawn(table.history(specification())))


def test_the_same_history_is_drawn_the_same() -> None:
    assert timeline_svg(hung()[0], [hung()[1]]) == timeline_svg(hung()[0], [hung()[1]])
