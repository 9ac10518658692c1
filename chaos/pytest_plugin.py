"""Our door into pytest: options, markers, and the `play` fixture that suites are written with."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, cast

import pytest

from chaos.arena import Arena, Wanted
from chaos.contracts import Stack
from chaos.known_bug import KnownBug, settled
from chaos.play import Play, Played
from chaos.reports.allure_files import write_environment, write_executor
from chaos.reports.allure_report import attach, label
from chaos.reports.matrix import Judged, judged, list_text, matrix_text, verdicts_text
from chaos.reports.rows import packed, unpacked
from chaos.requirements import missing
from chaos.stage import Stage
from chaos.verdict import Verdict
from stack.alerts import ALERTS
from stack.drivers.embedded import EmbeddedDriver
from stack.drivers.sglang import SglangDriver
from stack.environments import NotInstalled
from stack.plan import Plan, Topology


class Driver(Protocol):
    """Of one plan. ValueError for a plan that this kind of stack cannot have."""

    @property
    def plan(self) -> Plan:
        """What this kind of stack makes of it."""
        ...

    def launch(self) -> AbstractContextManager[Stack]: ...


DRIVERS: Mapping[str, Callable[[Plan], Driver]] = {
    "embedded": EmbeddedDriver,
    "sglang": SglangDriver,
}
FAULTS = (
    "bad_knob", "bandwidth", "blackhole", "crash", "cut", "disconnect", "drop", "eaten_pool",
    "fault_free", "freeze", "half_close", "kill", "latency", "leaked_bodies", "leg_error",
    "refuse", "reset", "restart", "slow_close", "slow_reader", "stall",
    "crowd", "few_descriptors", "slow_tokens", "terminate",
)  # fmt: skip
ROWS = "pd-chaos"  # the user property that carries verdicts from xdist's workers to the terminal


@dataclass
class Session:
    """What the options said, checked, and what came of it so far."""

    plan: Plan
    topology_fixed: bool
    report: Path
    keep_stack: bool
    driver: Callable[[Plan], Driver]
    arena: Arena = field(default_factory=Arena)


SESSION = pytest.StashKey[Session]()
VERDICTS = pytest.StashKey[list[Verdict]]()  # of one test, in the order in which it played


def pytest_addoption(parser: pytest.Parser) -> None:
    add = parser.getgroup("pd-chaos", "chaos experiments on a prefill/decode stack").addoption
    add("--stack", default="embedded", help=f"the stack to hurt: {', '.join(DRIVERS)}")
    add("--router", default="smg", help="the real router: smg or sglang-router")
    add("--topology", default="", help="prefill and decode workers, such as 1p1d or 2p2d")
    add("--seed", default="0", help="reproduces workload, schedule and victims; a whole number")
    add("--guards-off", default="", help="guards to switch off: names separated by commas")
    add("--keep-stack", action="store_true", help="leave the last stack up until Enter is pressed")
    add("--report-dir", default="", help="where histories go (default: .chaos/report)")
    add("--require", default=os.environ.get("PDCHAOS_REQUIRE", ""), help="fail where one of these "
        "is missing instead of skipping or replacing it: toxiproxy, sglang, ...")  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    mark = "markers"
    config.addinivalue_line(
        mark, "stack(**plan): the plan this test needs, such as topology='1p2d'"
    )
    config.addinivalue_line(mark, "quick: the short selection that every kind of stack runs")
    config.addinivalue_line(
        mark,
        "known_bug(stack, verdict, what, by): this kind of stack fails with exactly this verdict",
    )
    config.addinivalue_line(mark, "soak: the ten experiments that ci/soak plays with many seeds")
    for stage in Stage:
        config.addinivalue_line(mark, f"{stage.value}: hurts the stage {stage.value}")
    for fault in FAULTS:
        config.addinivalue_line(mark, f"{fault}: injects {fault.replace('_', ' ')}")
    try:
        config.stash[SESSION] = open_session(config)
    except (ValueError, NotInstalled) as wrong:
        raise pytest.UsageError(str(wrong)) from wrong


def open_session(config: pytest.Config) -> Session:
    """The options, checked. Raises ValueError with one clear line for a bad one."""
    stack, seed, topology = _text(config, "stack"), _text(config, "seed"), _text(config, "topology")
    if stack not in DRIVERS:
        raise ValueError(f"--stack {stack}: expected one of {', '.join(DRIVERS)}")
    if gone := missing(_text(config, "require")):
        raise ValueError(f"--require: {'; '.join(gone)} (`python -m chaos doctor` says more)")
    if not re.fullmatch(r"\d+", seed):
        raise ValueError(f"--seed {seed}: expected a whole number, such as 0 or 42")
    report = _text(config, "report-dir")
    plan = Plan(
        topology=Topology.parse(topology or "1p1d"),
        router=_text(config, "router"),
        guards_off=frozenset(name for name in _text(config, "guards-off").split(",") if name),
        seed=int(seed),
        environment=_kernels(os.environ),
    )
    DRIVERS[stack](plan)  # whatever this kind of stack cannot have is said now
    return Session(
        plan=plan,
        topology_fixed=bool(topology),
        report=Path(report) if report else config.rootpath / ".chaos" / "report",
        keep_stack=bool(config.getoption("--keep-stack")),
        driver=DRIVERS[stack],
    )


def _kernels(environ: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Every engine runs on the kernels that pytest itself was told to use, such as "triton"."""
    told = {name: environ[name] for name in ("PDCHAOS_KERNELS",) if name in environ}
    return {"prefill": told, "decode": told} if told else {}


def _text(config: pytest.Config, option: str) -> str:
    return str(config.getoption(f"--{option}") or "")


def pytest_unconfigure(config: pytest.Config) -> None:
    session = config.stash.get(SESSION, None)
    if session is None:
        return
    if session.keep_stack and session.arena.live is not None:
        _wait_for_enter(session.arena.live)
    session.arena.close()


def _wait_for_enter(stack: Stack) -> None:
    """The one wait without a bound: a person asked for it. Without a terminal it ends at once."""
    nodes = "".join(f"  {node.name:<12}{node.url}\n" for node in stack.nodes)
    sys.stdout.write(f"\n{stack.name} is kept up at {stack.url}\n{nodes}Enter ends it: ")
    sys.stdout.flush()
    sys.stdin.readline()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Experiments that share a plan run one after the other, on the same live stack."""
    plans = {item: repr(_wanted(item)) for item in items}
    first = {plan: index for index, plan in reversed(list(enumerate(plans.values())))}
    items.sort(key=lambda item: first[plans[item]])


@pytest.fixture
def play(request: pytest.FixtureRequest) -> Play:
    """Plays an experiment on the live stack: `play(load, strikes, allowed=...)`."""
    session = request.config.stash[SESSION]
    item: pytest.Item = request.node
    driver = session.driver(plan_for(session, _wanted(item)))
    file_name = re.sub(r"[^\w.-]+", "-", f"{item.path.stem}-{item.name}")
    return Play(
        name=item.name,
        arena=session.arena,
        wanted=Wanted(repr(driver.plan), driver.launch),
        seed=session.plan.seed,
        file=session.report / "histories" / f"{file_name}.jsonl",
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
    environment = cast("dict[str, dict[str, str]]", wanted.pop("environment", {}))
    return replace(session.plan, topology=needed, **wanted).with_environment(environment)


def reproduction(config: pytest.Config, nodeid: str) -> str:
    """The command that plays this experiment again, with the options that are not the default."""
    options = [
        f"--{name} {value}"
        for name in ("stack", "router", "topology", "guards-off")
        if (value := _text(config, name)) and value not in {"embedded", "smg"}
    ]
    return " ".join(["pytest", f"'{nodeid}'", f"--seed {_text(config, 'seed')}", *options])


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Beside Allure's results: what was run, on what."""
    config = session.config
    results = config.getoption("allure_report_dir", None)
    if not results or hasattr(config, "workerinput"):
        return
    ours = config.stash[SESSION]
    facts = {
        "stack": str(config.getoption("--stack")),
        "plan": ours.plan.name,
        "seed": str(ours.plan.seed),
        "guards off": ", ".join(sorted(ours.plan.guards_off)) or "none",
        "python": platform.python_version(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
    }
    write_environment(Path(results), facts, os.environ)
    write_executor(Path(results), os.environ)


def _rows(report: object) -> list[Judged]:
    """The verdicts that a test's report carries; no other report has any."""
    if not isinstance(report, pytest.TestReport) or report.when != "call":
        return []
    return [unpacked(str(value)) for name, value in report.user_properties if name == ROWS]


def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport,
) -> tuple[str, str, str] | None:
    """With -v a test that has played ends with its verdicts instead of PASSED."""
    rows = _rows(report)
    if not rows or report.skipped:
        return None
    told = verdicts_text(rows)
    return ("passed", ".", told) if report.passed else ("failed", "F", f"FAILED, {told}")


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """The stage x fault matrix, and one line per strike."""
    reports = (one for reports in terminalreporter.stats.values() for one in reports)
    rows = [row for one in reports for row in _rows(one)]
    if not rows:
        return
    terminalreporter.write_sep("=", "verdicts")
    terminalreporter.write_line(list_text(rows))
    terminalreporter.write_sep("=", "stage x fault")
    terminalreporter.write_line(matrix_text(rows))
    terminalreporter.write_line(f"histories: {config.stash[SESSION].report / 'histories'}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A known bug of this kind of stack is expected: the very verdict, and a failure for it."""
    report = yield
    known = [KnownBug(**marker.kwargs) for marker in item.iter_markers("known_bug")]
    mine = [one for one in known if one.stack == _text(item.config, "stack")]
    if call.when != "call" or not mine or report.skipped:
        return report
    seen = item.stash.get(VERDICTS, list[Verdict]())
    failed_honestly = call.excinfo is not None and call.excinfo.errisinstance(AssertionError)
    wrong = settled(mine[0], seen, passed=report.passed, accused=failed_honestly)
    if wrong is None:
        report.outcome = "skipped"
        report.wasxfail = f"reason: {mine[0].what}"
    elif report.passed:
        report.outcome, report.longrepr = "failed", wrong
    else:
        report.sections.append(("known bug", wrong))
    return report


def _keep(item: pytest.Item, played: Played) -> None:
    item.stash.setdefault(VERDICTS, []).extend(played.verdicts)
    for row in judged(played.history, played.verdicts):
        item.user_properties.append((ROWS, packed(row)))
    label(played.history)
    attach(played.history, played.verdicts, played.file, played.stack.attachments())


def _wanted(item: pytest.Item) -> dict[str, object]:
    marker = item.get_closest_marker("stack")
    return dict(marker.kwargs) if marker else {}
