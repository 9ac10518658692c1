"""The table of knobs: every value is checked, and a refusal says what, where and why."""

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from stack.engine.config import WorkerConfig
from stack.engine.guards.knob_validation import read_knobs
from stack.engine.knobs import GUARDS, TABLE, BadKnob, Knobs, default_knobs
from stack.engine.variables import unread

ROOT = Path(__file__).parents[3]


def complain(text: str) -> None:
    raise AssertionError(f"nothing to warn about: {text}")


def test_the_table_and_the_fields_are_the_same_with_the_same_types() -> None:
    kinds = {field.name: field.type for field in fields(Knobs)}
    kinds.pop("guards_off")
    assert kinds == {name: type(knob.default).__name__ for name, knob in TABLE.items()}


def test_what_is_set_is_effective_and_read_back() -> None:
    knobs = read_knobs({"PDCHAOS_KV_PAGES": "77", "PDCHAOS_PREFIX_CACHE": "0"}, complain)
    assert knobs.effective()["PDCHAOS_KV_PAGES"] == 77
    assert knobs.prefix_cache is False
    assert knobs.step_timeout_s == default_knobs().step_timeout_s


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("PDCHAOS_STEP_TIMEOUT", "soon"),
        ("PDCHAOS_STEP_TIMEOUT", "nan"),
        ("PDCHAOS_STEP_TIMEOUT", "-1"),
        ("PDCHAOS_KV_PAGES", "1.5"),
        ("PDCHAOS_PREFIX_CACHE", "maybe"),
        ("PDCHAOS_KERNELS", "cuda"),
        ("SGLANG_DISAGGREGATION_HEARTBEAT_MAX_FAILURE", "0"),
    ],
)
def test_a_bad_value_is_refused_by_its_name(name: str, text: str) -> None:
    with pytest.raises(BadKnob) as refused:
        read_knobs({name: text}, complain)
    assert name in str(refused.value)
    assert repr(text) in str(refused.value)
    assert "expected" in str(refused.value)


def test_without_the_guard_a_bad_value_becomes_the_default_with_a_warning() -> None:
    warnings: list[str] = []
    environ = {"PDCHAOS_STEP_TIMEOUT": "soon", "PDCHAOS_GUARDS_OFF": "knob_validation"}
    knobs = read_knobs(environ, warnings.append)
    assert knobs.step_timeout_s == default_knobs().step_timeout_s
    assert len(warnings) == 1
    assert "PDCHAOS_STEP_TIMEOUT" in warnings[0]


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("SGLANG_DISAGGREGATION_WAITNG_TIMEOUT", "SGLANG_DISAGGREGATION_WAITING_TIMEOUT"),
        ("PDCHAOS_PREFIL_INFLIGHT_TIMEOUT", "PDCHAOS_PREFILL_INFLIGHT_TIMEOUT"),
        ("PDCHAOS_GUARD_OFF", "PDCHAOS_GUARDS_OFF"),
    ],
)
def test_a_variable_that_nobody_reads_is_refused_with_the_nearest_name(
    name: str, nearest: str
) -> None:
    with pytest.raises(BadKnob) as refused:
        read_knobs({name: "1"}, complain)
    assert str(refused.value) == (
        f"{name}: nobody reads this variable; the nearest name is {nearest} (environment variable)"
    )
    warnings: list[str] = []
    read_knobs({name: "1", "PDCHAOS_GUARDS_OFF": "knob_validation"}, warnings.append)
    assert [name in line for line in warnings] == [True]


def test_a_variable_of_somebody_else_is_none_of_ours() -> None:
    others = {
        "SGLANG_DISAGGREGATION_THREAD_POOL_SIZE": "4",  # SGLang's, without a use here
        "SGLANG_ENABLE_TORCH_COMPILE": "1",
        "PDCHAOS_REQUIRE": "kernels",  # our own run's
        "PATH": "/bin",
    }
    assert read_knobs(others, complain) == default_knobs()


def test_every_variable_of_ours_in_the_sources_is_known() -> None:
    sources = [
        path.read_text(encoding="utf-8")
        for folder in ("chaos", "stack", "faults", "kernels", "suites", "ci", ".ci")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix in {".py", "", ".toml"} and "__pycache__" not in str(path)
    ]
    named = {name for text in sources for name in re.findall(r"PDCHAOS_[A-Z_]+[A-Z]", text)}
    assert len(named) > 20
    assert unread(named) is None


def test_each_guard_says_from_which_variable_it_was_read() -> None:
    read = read_knobs({"SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "1"}, complain).by_guard()
    assert read["waiting_timeout"] == {"SGLANG_DISAGGREGATION_WAITING_TIMEOUT": 1.0}
    assert read["bootstrap_timeout"] == {"SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": 300.0}
    assert set(read["heartbeat_to_decode"]) == {
        "SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL",
        "SGLANG_DISAGGREGATION_HEARTBEAT_MAX_FAILURE",
    }
    assert set(read) <= set(GUARDS)


def test_a_guard_that_does_not_exist_cannot_be_switched_off() -> None:
    with pytest.raises(BadKnob, match="prefil_watchdog"):
        read_knobs({"PDCHAOS_GUARDS_OFF": "prefil_watchdog"}, complain)


def test_every_guard_is_on_unless_switched_off() -> None:
    assert all(default_knobs().on(guard) for guard in GUARDS)
    off = read_knobs({"PDCHAOS_GUARDS_OFF": "step_watchdog, waiting_timeout"}, complain)
    assert not off.on("step_watchdog")
    assert not off.on("waiting_timeout")


def test_a_worker_with_a_bad_knob_does_not_start(tmp_path: Path) -> None:
    config = WorkerConfig("prefill-0", "prefill", 1, bootstrap_port=2)
    path = tmp_path / "worker.json"
    path.write_text(config.to_json(), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "stack.engine", "--config", str(path)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PDCHAOS_KV_PAGES": "many"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("PDCHAOS_KV_PAGES: expected an integer from 4 to 1e+06 pages, got ")


def test_a_configuration_survives_json() -> None:
    config = WorkerConfig(
        "decode-0",
        "decode",
        30,
        kv_port=31,
        routes={"bootstrap": {8998: 9001}},
        environment={"PDCHAOS_SEED": "3"},
    )
    assert WorkerConfig.from_json(config.to_json()) == config
    assert config.detour("bootstrap", 8998) == 9001
    assert config.detour("bootstrap", 1) == 1


@pytest.mark.parametrize("text", ["[]", "{", '{"name": "x"}', '{"name":"x","role":"r","port":1}'])
def test_a_bad_configuration_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"worker configuration|role"):
        WorkerConfig.from_json(text)
