"""Our door into pytest: options, markers, and the `play` fixture that suites are written with."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chaos.arena import Arena
from chaos.play import Play, Played
from chaos.reports import allure
from chaos.reports.matrix import Judged, judged, list_text, matrix_text
from chaos.reports.rows import packed, unpacked
from chaos.requirements import missing
from chaos.stage import Stage
from stack.alerts import ALERTS
from stack.drivers.embedded import EmbeddedDriver
from stack.plan import Plan, Topology

DRIVERS = {"embedded": EmbeddedDriver}
FAULTS = (
    "bad_knob", "bandwidth", "blackhole", "crash", "cut", "disconnect", "drop", "eaten_pool",
    "fault_free", "freeze", "half_close", "kill", "latency", "leaked_bodies", "leg_error",
    "refuse", "reset", "restart", "slow_close", "slow_reader", "stall",
)  # fmt: skip
ROWS = "pd-chaos"  # the user property that carries verdicts from xdist's workers to the terminal


@dataclass
class Session:
    """What the options said, checked, and what came of it so far."""

    plan: Plan
    topology_fixed: bool
    seed: int
    report: Path
    keep_stack: bool
    arena: Arena[Plan]
    rows: list[Judged] = field(default_factory=list[Judged])


SESSION = pytest.StashKey[Session]()


def pytest_addoption(parser: pytest.Parser) -> None:
    add = parser.getgroup("pd-chaos", "chaos experiments on a prefill/decode stack").addoption
    add("--stack", default="embedded", help=f"the stack to hurt: {', '.join(DRIVERS)}")
    add("--router", default="smg", help="the real router: smg or sglang-router")
    add("--topology", default=None, help="prefill and decode workers, such as 1p1d or 2p2d")
    add("--seed", default="0", help="reproduces workload, schedule and victims; a whole number")
    add("--guards-off", default="", help="guards to switch off: names separated by commas")
    add("--keep-stack", action="store_true", help="leave the last stack up until Enter is pressed")
    add("--report-dir", default=None, help="where histories go (default: .chaos/report)")
    add("--require", default=os.environ.get("PDCHAOS_REQUIRE", ""), help="fail where one of these "
        "is missing instead of skipping or replacing it: toxiproxy,chromium,allure")  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    mark = "markers"
    config.addinivalue_line(mark, "stack(**plan): the plan this test needs, such as topology='1p2d'")
    config.addinivalue_line(mark, "quick: the short selection that every kind of stack runs")
    for stage in Stage:
        config.addinivalue_line(mark, f"{stage.value}: hurts the stage {stage.value}")
    for fault in FAULTS:
        config.addinivalue_line(mark, f"{fault}: injects {fault.replace('_', ' ')}")
    try:
        config.stash[SESSION] = open_session(config)
    except ValueError as wrong:
        raise pytest.UsageError(str(wrong)) from wrong


def open_session(config: pytest.Config) -> Session:
    """The options, checked. Raises ValueError with one clear line for a bad one."""
    option = config.getoption
    if option("--stack") not in DRIVERS:
        raise ValueError(f"--stack {option('--stack')}: expected one of {', '.join(DRIVERS)}")
    if gone := missing(option("--require")):
        raise ValueError(f"--require: {'; '.join(gone)} (`python -m chaos doctor` says more)")
    seed = option("--seed")
    if not re.fullmatch(r"\d+", seed):
        raise ValueError(f"--seed {seed}: expected a whole number, such as 0 or 42")
    plan = Plan(
        topology=Topology.parse(option("--topology") or "1p1d"),
        router=option("--router"),
        guards_off=frozenset(name for name in option("--guards-off").split(",") if name),
        seed=int(seed),
    )
    driver = DRIVERS[option("--stack")]
    return Session(
        plan=plan,
        topology_fixed=option("--topology") is not None,
        seed=int(seed),
        report=Path(option("--report-dir") or config.rootpath / ".chaos" / "report"),
        keep_stack=option("--keep-stack"),
        arena=Arena(lambda wanted: driver(wanted).launch()),
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    if session := config.stash.get(SESSION, None):
        session.arena.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Experiments that share a plan run one after the other, on the same live stack."""
    plans = {item: repr(_wanted(item)) for item in items}
    first = {plan: index for index, plan in reversed(list(enumerate(plans.values())))}
    items.sort(key=lambda item: first[plans[item]])


@pytest.fixture
def play(request: pytest.FixtureRequest) -> Play[Plan]:
    """Plays an experiment on the live stack: `play(load, strikes, allowed=...)`."""
    session = request.config.stash[SESSION]
    item: pytest.Item = request.node
    return Play(
        name=item.name,
        arena=session.arena,
        plan=plan_for(session, _wanted(item)),
        seed=session.seed,
        file=session.report / "histories" / f"{re.sub(r'[^\w.-]+', '-', item.name)}.jsonl",
        reproduce=reproduction(request.config, item.nodeid),
        skip=pytest.skip,
        finished=lambda played: _keep(item, played),
        alerts=ALERTS,
    )


def plan_for(session: Session, wanted: dict[str, object]) -> Plan:
    """The session's plan with what this test asks for; a test that does not fit is skipped."""
    needed = Topology.parse(str(wanted.pop("topology", session.plan.topology)))
    if session.topology_fixed:
        if not session.plan.topology.holds(needed):
            pytest.skip(f"needs at least {needed}, and --topology is {session.plan.topology}")
        needed = session.plan.topology
    return replace(session.plan, topology=needed, **wanted)


def reproduction(config: pytest.Config, nodeid: str) -> str:
    """The command that plays this experiment again, with the options that are not the default."""
    options = [
        f"--{name} {value}"
        for name in ("stack", "router", "topology", "guards-off")
        if (value := config.getoption(f"--{name}")) and value not in {"embedded", "smg"}
    ]
    return " ".join(["pytest", f"'{nodeid}'", f"--seed {config.getoption('--seed')}", *options])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Nothing to do in a worker: its verdicts travel to the terminal in the report itself."""


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """The stage x fault matrix, and one line per strike."""
    rows = [
        unpacked(value)
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, value in report.user_properties
        if name == ROWS
    ]
    if not rows:
        return
    terminalreporter.section("verdicts")
    terminalreporter.write_line(list_text(rows))
    terminalreporter.section("stage x fault")
    terminalreporter.write_line(matrix_text(rows))
    terminalreporter.write_line(f"histories: {config.stash[SESSION].report / 'histories'}")


def _keep(item: pytest.Item, played: Played) -> None:
    for row in judged(played.history, played.verdicts):
        item.user_properties.append((ROWS, packed(row)))
    allure.attach(played)


def _wanted(item: pytest.Item) -> dict[str, object]:
    marker = item.get_closest_marker("stack")
    return dict(marker.kwargs) if marker else {}
