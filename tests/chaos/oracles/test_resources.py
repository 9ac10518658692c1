"""Goal: one page is a leak, a pooled connection is none. Method: histories by hand."""

from __future__ import annotations

from chaos.history import History
from chaos.oracles.resources import ResourcesReturn
from chaos.verdict import Answer
from tests.chaos.table import history

ORACLE = ResourcesReturn()


def read(name: str, before: float, after: float) -> str:
    return f"""
        0.0 run      phase   steady
        0.1 resource reading {name} value={before}
        0.2 run      phase   disturb
        5.0 run      phase   recover
        5.1 resource reading {name} value=99
        6.0 resource reading {name} value={str(after).replace("nan", "NaN")}
        6.1 run      phase   done
    """


def judged(name: str, before: float, after: float, control: float | None = None) -> Answer:
    return ORACLE.judge(told(name, before, after, control)).answer


def told(name: str, before: float, after: float, control: float | None = None) -> History:
    fault_free = None if control is None else read(name, 0, control)
    return history(read(name, before, after), control=fault_free)


def test_it_holds_when_the_last_reading_is_back_at_the_baseline() -> None:
    assert judged("prefill-0/pages", 0, 0, control=0) is Answer.HOLDS


def test_one_page_that_stays_is_a_violation_and_is_named() -> None:
    finding = ORACLE.judge(told("prefill-0/pages", 3, 4, control=3))
    assert finding.answer is Answer.VIOLATED
    assert finding.about == ("prefill-0/pages",)
    assert "is at 4, 1 above" in finding.reason
    assert finding.evidence == (1, 5)  # the first reading and the last


def test_what_the_control_kept_is_no_leak() -> None:
    assert judged("prefill-0/pages", 0, 4, control=4) is Answer.HOLDS
    assert judged("prefill-0/pages", 0, 5, control=4) is Answer.VIOLATED


def test_a_gauge_that_a_new_router_tells_only_under_load_is_compared_with_the_control() -> None:
    """A fresh stack's first reading lacks it; the leak of a dispatched request is in it alone."""
    gauge = "router/smg_worker_requests_active{decode-0}"
    fresh = read("prefill-0/pages", 0, 0) + f"6.05 resource reading {gauge} value="
    control = read(gauge, 0, 0) + "6.05 resource reading prefill-0/pages value=0"
    assert ORACLE.judge(history(f"{fresh}0", control=control)).answer is Answer.HOLDS
    finding = ORACLE.judge(history(f"{fresh}1", control=control))
    assert finding.answer is Answer.VIOLATED
    assert finding.about == (gauge,)


def test_a_pool_may_be_a_little_larger_than_in_the_control() -> None:
    assert judged("router/sockets", 3, 14, control=10) is Answer.HOLDS  # two, and two per request
    assert judged("router/sockets", 3, 15, control=10) is Answer.VIOLATED


def test_a_pool_without_a_control_may_grow_with_the_concurrency() -> None:
    assert judged("router/descriptors", 10, 16) is Answer.HOLDS  # two, and four per request
    assert judged("router/descriptors", 10, 17) is Answer.VIOLATED


def test_memory_may_grow_by_a_quarter() -> None:
    assert judged("decode-0/resident_memory_bytes", 100, 125) is Answer.HOLDS
    assert judged("decode-0/resident_memory_bytes", 100, 126) is Answer.VIOLATED


def test_what_counts_free_things_leaks_downwards() -> None:
    assert judged("prefill-0/free_slots", 8, 9) is Answer.HOLDS
    assert judged("prefill-0/free_slots", 8, 7) is Answer.VIOLATED


def test_signals_are_not_resources() -> None:
    table = read("prefill-0/pages", 0, 0) + "6.05 signal reading prefill-0/pages value=50"
    assert ORACLE.judge(history(table)).answer is Answer.HOLDS


def test_without_any_reading_nothing_is_proven() -> None:
    table = "0.0 run phase steady\n 0.2 run phase disturb\n 5.0 run phase recover"
    assert ORACLE.judge(history(table)).answer is Answer.UNKNOWN


def test_a_run_that_never_came_to_its_recovery_proves_nothing() -> None:
    table = "0.0 run phase steady\n 0.1 resource reading a/b value=0\n 0.2 run phase disturb"
    finding = ORACLE.judge(history(table))
    assert (finding.answer, "never came to" in finding.reason) == (Answer.UNKNOWN, True)


def test_a_node_that_cannot_be_read_any_more_proves_nothing() -> None:
    table = read("prefill-0/pages", 0, 0) + "6.05 resource unreadable prefill-0 why=gone"
    finding = ORACLE.judge(history(table))
    assert finding.answer is Answer.UNKNOWN
    assert finding.about == ("prefill-0/pages",)


def test_a_probe_that_never_answered_before_has_no_baseline_and_proves_nothing() -> None:
    """Its reading at the end may be a leak or not: nobody can say."""
    silent = "0.15 resource unreadable decode-0/process why=late\n"
    late = "6.05 resource reading decode-0/fds value=99 probe=decode-0/process\n"
    run, control = read("prefill-0/pages", 0, 0), read("prefill-0/pages", 0, 0)
    finding = ORACLE.judge(history(run + silent + late, control=control))
    assert finding.answer is Answer.UNKNOWN
    assert finding.about == ("decode-0/process",)
    known = ORACLE.judge(history(run + silent + late, control=control + late))
    assert known.answer is Answer.HOLDS


def test_a_leak_is_seen_where_another_probe_of_the_node_cannot_be_read() -> None:
    silent = "6.05 resource unreadable decode-0/process why=late\n"
    control = read("decode-0/pages", 0, 0).replace("value", "probe=decode-0/metrics value") + silent
    leaking = read("decode-0/pages", 0, 50).replace("value", "probe=decode-0/metrics value")
    finding = ORACLE.judge(history(leaking + silent, control=control))
    assert finding.answer is Answer.VIOLATED
    gone = leaking.replace("value=50", "value=0") + silent.replace("process", "metrics")
    assert ORACLE.judge(history(gone, control=control)).answer is Answer.UNKNOWN


def test_what_the_control_did_not_tell_accuses_nobody() -> None:
    """Its probe could not be read after the control's load: what is kept may be kept every day."""
    silent = "6.05 resource unreadable decode-0/fds why=late\n"
    control = read("decode-0/fds", 10, 14).replace("6.0 ", "6.04 ") + silent
    finding = ORACLE.judge(history(read("decode-0/fds", 10, 30), control=control))
    assert finding.answer is Answer.UNKNOWN
    assert "after the control's load" in finding.reason
    back = ORACLE.judge(history(read("decode-0/fds", 10, 10), control=control))
    assert back.answer is Answer.HOLDS


def test_a_value_that_is_no_number_is_not_read() -> None:
    assert judged("decode-0/pages", 0, float("nan"), control=0) is Answer.UNKNOWN


def test_a_value_that_is_no_number_unsays_the_one_before_it() -> None:
    probe = read("decode-0/pages", 0, 0).replace("value", "probe=decode-0/metrics value")
    lost = "6.05 resource reading decode-0/pages value=NaN probe=decode-0/metrics"
    assert ORACLE.judge(history(probe, control=probe)).answer is Answer.HOLDS
    assert ORACLE.judge(history(f"{probe}\n{lost}", control=probe)).answer is Answer.UNKNOWN


def test_the_first_event_of_all_may_be_a_reading_from_before_the_load() -> None:
    table = read("a/b", 0, 5).replace("0.1 resource", "-0.1 resource")
    assert ORACLE.judge(history(table)).about == ("a/b",)


def test_what_is_read_when_the_load_begins_is_not_from_before_it() -> None:
    late = "0.3 resource reading a/b value=5\n 0.3 run phase disturb\n 5.0 run phase recover\n"
    before = "0.0 run phase steady\n 0.1 resource reading a/b value=0\n"
    assert ORACLE.judge(history(f"{before}{late}6 resource reading a/b value=5")).about == ("a/b",)


def burst(after: int, ended: str = "finished") -> str:
    """Ten at once, into a router that keeps 60 above its baseline."""
    asked = "\n".join(f"6.2 client sent recover/burst-10/{i}" for i in range(10))
    served = "\n".join(f"6.3 client {ended} recover/burst-10/{i}" for i in range(10))
    reading = f"6.4 resource reading router/sockets value={after}"
    table = read("router/sockets", 3, 60).replace("6.1 run      phase   done", "")
    return f"{table}\n{asked}\n{served}\n{reading}\n6.5 run phase done"


def test_what_serves_those_that_come_at_once_is_a_pool_however_large() -> None:
    control = read("router/sockets", 3, 3)
    assert ORACLE.judge(history(burst(60), control=control)).answer is Answer.HOLDS
    assert ORACLE.judge(history(burst(64), control=control)).answer is Answer.HOLDS
    leaked = ORACLE.judge(history(burst(65), control=control))
    assert leaked.answer is Answer.VIOLATED
    assert "did not serve 10 at once" in leaked.reason


def test_where_those_that_came_at_once_were_not_served_nothing_is_proven() -> None:
    finding = ORACLE.judge(history(burst(60, "refused"), control=read("router/sockets", 3, 3)))
    assert finding.answer is Answer.UNKNOWN
    assert "router/sockets" in finding.reason
    least = burst(8, "refused").replace("value=60", "value=8")  # one more than is tolerated
    finding = ORACLE.judge(history(least, control=read("router/sockets", 3, 3)))
    assert finding.answer is Answer.UNKNOWN


def test_what_is_kept_within_its_tolerance_needs_no_proof() -> None:
    """Two, and two for the one request at once; those that were asked more are no matter."""
    refused = burst(7, "refused").replace("value=60", "value=7")
    assert (
        ORACLE.judge(history(refused, control=read("router/sockets", 3, 3))).answer is Answer.HOLDS
    )


def test_an_idle_gauge_is_zero_also_where_the_controls_is_not() -> None:
    for value in (1, -1):
        table = read("prefill-0/running", 0, value).replace("value", "idle=true value")
        finding = ORACLE.judge(history(table, control=table))
        assert finding.answer is Answer.VIOLATED
        assert f"is at {value} on an idle stack" in finding.reason
    table = read("prefill-0/running", 0, 0).replace("value", "idle=true value")
    assert ORACLE.judge(history(table, control=table)).answer is Answer.HOLDS
