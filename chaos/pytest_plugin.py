"""Our door into pytest: options, markers, and the `play` fixture that suites are written with."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, cast

import pytest

from chaos import history_file
from chaos.arena import Arena, Wanted
from chaos.comparison import Expected
from chaos.contracts import Stack
from chaos.expected_files import ExpectedFiles
from chaos.expected_run import ExpectedRun, told
from chaos.item_report import keep, keep_undecided
from chaos.play import Play
from chaos.reports.allure_files import write_environment, write_executor
from chaos.reproduction import reproduction
from chaos.requirements import missing
from chaos.selection import whole_folders
from chaos.stage import Stage
from chaos.verdict_terminal import VerdictTerminal
from stack.alerts import ALERTS
from stack.drivers.embedded import EmbeddedDriver
from stack.drivers.sglang import SglangDriver
from stack.engine.variables import ELSEWHERE, unpassed, unread
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
KERNELS = "PDCHAOS_KERNELS"
OURS = {
    "stack": "embedded",
    "router": "smg",
    "topology": "",
    "seed": "",
    "guards-off": "",
    "require": "",
}  # options and their defaults; a command that is printed names the seed


@dataclass
class Session:
    """What the options said, checked, and what came of it so far."""

    plan: Plan
    topology_fixed: bool
    report: Path
    keep_stack: bool
    driver: Callable[[Plan], Driver]
    expected: ExpectedFiles
    arena: Arena = field(default_factory=Arena)


SESSION = pytest.StashKey[Session]()
EXPECTED = pytest.StashKey[Expected]()  # of one test


def pytest_addoption(parser: pytest.Parser) -> None:
    add = parser.getgroup("pd-chaos", "chaos experiments on a prefill/decode stack").addoption
    add("--stack", default="embedded", help=f"the stack to hurt: {', '.join(DRIVERS)}")
    add("--router", default="smg", help="the real router: smg or sglang-router")
    add("--topology", default="", help="prefill and decode workers, such as 1p1d or 2p2d")
    add("--seed", default="0", help="reproduces workload, schedule and victims; a whole number")
    add("--guards-off", default="", help="guards to switch off: names separated by commas")
    add("--keep-stack", action="store_true", help="leave the last stack up until Enter is pressed")
    add("--report-dir", default="", help="where histories go (default: .chaos/report)")
    add(
        "--accept",
        action="store_true",
        help="write the verdicts that came, where the suites "
        "promise them, into the expected file of this stack; a person reviews them",
    )
    add("--require", default=os.environ.get("PDCHAOS_REQUIRE", ""), help="fail where one of these "
        "is missing instead of skipping or replacing it: toxiproxy, sglang, ...")  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    mark = "markers"
    config.addinivalue_line(
        mark, "stack(**plan): the plan this test needs, such as topology='1p2d'"
    )
    config.addinivalue_line(mark, "quick: the short selection that every kind of stack runs")
    config.addinivalue_line(mark, "soak: the ten experiments that ci/soak plays with many seeds")
    for stage in Stage:
        config.addinivalue_line(mark, f"{stage.value}: hurts the stage {stage.value}")
    for fault in FAULTS:
        config.addinivalue_line(mark, f"{fault}: injects {fault.replace('_', ' ')}")
    try:
        config.stash[SESSION] = session = open_session(config)
        for folder in whole_folders(config):  # before any parallel worker starts
            session.expected.check(folder)
    except (ValueError, NotInstalled) as wrong:
        raise pytest.UsageError(str(wrong)) from wrong
    config.pluginmanager.register(VerdictTerminal(session.report / "histories"))
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(ExpectedRun(session.expected.accept, whole_folders(config)))


def open_session(config: pytest.Config) -> Session:
    """The options, checked. Raises ValueError with one clear line for a bad one."""
    ours = (name for name in os.environ if name.startswith("PDCHAOS_"))
    if misspelt := unread(ours, (*ELSEWHERE, KERNELS)):
        raise ValueError(misspelt)
    if vain := unpassed(os.environ, (KERNELS,)):
        raise ValueError(vain)
    stack, seed, topology = _text(config, "stack"), _text(config, "seed"), _text(config, "topology")
    if stack not in DRIVERS:
        raise ValueError(f"--stack {stack}: expected one of {', '.join(DRIVERS)}")
    if gone := missing(_text(config, "require")):
        raise ValueError(f"--require: {'; '.join(gone)} (`python -m chaos doctor` says more)")
    if not re.fullmatch(r"\d+", seed):
        raise ValueError(f"--seed {seed}: expected a whole number, such as 0 or 42")
    accept = bool(config.getoption("--accept"))
    if accept and _text(config, "guards-off"):
        raise ValueError("--accept: what comes without a guard is not to be expected; drop one of "
                         "--accept and --guards-off")  # fmt: skip
    plan = Plan(
        topology=Topology.parse(topology or "1p1d"),
        router=_text(config, "router"),
        guards_off=frozenset(name for name in _text(config, "guards-off").split(",") if name),
        seed=int(seed),
        environment=_kernels(os.environ),
    )
    name = "-".join((stack, plan.router, *([str(plan.topology)] if topology else [])))
    DRIVERS[stack](plan)  # whatever this kind of stack cannot have is said now
    return Session(
        plan=plan,
        topology_fixed=bool(topology),
        report=report_folder(config),
        keep_stack=bool(config.getoption("--keep-stack")),
        driver=DRIVERS[stack],
        expected=ExpectedFiles(f"{name}.toml", config.rootpath, accept),
    )


def report_folder(config: pytest.Config) -> Path:
    told = _text(config, "report-dir")
    return Path(told).absolute() if told else config.rootpath / ".chaos" / "report"


def _kernels(environ: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Every engine runs on the kernels that pytest itself was told to use, such as "triton"."""
    told = {name: environ[name] for name in (KERNELS,) if name in environ}
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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Experiments that share a plan run one after the other, on the same live stack."""
    for item in items:
        if "play" in getattr(item, "fixturenames", ()):
            item.stash[EXPECTED] = _expected(config, item)
    plans = {item: repr(_wanted(item)) for item in items}
    first = {plan: index for index, plan in reversed(list(enumerate(plans.values())))}
    items.sort(key=lambda item: first[plans[item]])


def _expected(config: pytest.Config, item: pytest.Item) -> Expected:
    """What stands for this test in its expected file. UsageError: it is none of ours."""
    try:
        expected, place = config.stash[SESSION].expected.of(item.path, _within_file(item))
    except ValueError as wrong:
        raise pytest.UsageError(str(wrong)) from wrong
    if place is not None:
        item.user_properties.append(told(place, expected.test))
    return expected


def _within_file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[2]


@pytest.fixture
def play(request: pytest.FixtureRequest) -> Play:
    """Plays an experiment on the live stack: `play(load, strikes, allowed=...)`."""
    config = request.config
    session = config.stash[SESSION]
    item: pytest.Item = request.node
    driver = session.driver(plan_for(session, _wanted(item)))
    # One that asked for `play` only while it ran was not seen when tests were collected.
    expected = item.stash.get(EXPECTED, None) or _expected(config, item)
    # Relative to the root: the same name on every machine.
    place = Path(os.path.relpath(item.path, config.rootpath))
    return Play(
        name=item.name,
        arena=session.arena,
        wanted=Wanted(repr(driver.plan), driver.launch),
        seed=session.plan.seed,
        file=session.report / "histories" / history_file.name_of(place, _within_file(item)),
        reproduce=reproduction(
            item.path,
            _within_file(item),
            {f"--{one}": text for one in OURS if (text := _text(config, one)) != OURS[one]},
            config.invocation_params.args,
            config.invocation_params.dir,
        ),
        skip=pytest.skip,
        finished=lambda played: keep(item, expected, played),
        alerts=ALERTS,
        expected=expected,
        accept=session.expected.accept,
        known_bug=pytest.xfail,
        undecided=lambda played: keep_undecided(item, played),
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


def _wanted(item: pytest.Item) -> dict[str, object]:
    marker = item.get_closest_marker("stack")
    return dict(marker.kwargs) if marker else {}
