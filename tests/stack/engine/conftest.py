"""Workers are forked from one launcher a run; a test that hurts its pair gets its own."""

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.stack.engine.pair import Launcher, Pair, pair_of, until

PATIENT = {
    "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": "20",
    "SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "20",
    "SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL": "5",
    "PDCHAOS_PREFILL_INFLIGHT_TIMEOUT": "20",
    "PDCHAOS_STEP_TIMEOUT": "20",
    "PDCHAOS_STREAM_IDLE_TIMEOUT": "20",
}
NewPair = Callable[[Mapping[str, str]], Pair]


@pytest.fixture(scope="session")
def launcher() -> Generator[Launcher]:
    launched = Launcher()
    yield launched
    launched.close()


@pytest.fixture(scope="session")
def shared_pair(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Generator[Pair]:
    with pair_of(launcher, tmp_path_factory.mktemp("pair"), {}) as pair:
        yield pair


@pytest.fixture
def pair(shared_pair: Pair) -> Generator[Pair]:
    """A pair that every test leaves as it found it: idle, with all pages back."""
    yield shared_pair
    until(shared_pair.idle, "everything is back to the baseline")


@pytest.fixture(scope="session")
def shared_patient_pair(
    launcher: Launcher, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Pair]:
    with pair_of(launcher, tmp_path_factory.mktemp("patient"), PATIENT) as pair:
        yield pair


@pytest.fixture
def patient_pair(shared_patient_pair: Pair) -> Generator[Pair]:
    """As `pair`, for a test that is about no guard's time: no guard is in a hurry, so that a busy
    machine ends nobody's request."""
    yield shared_patient_pair
    until(shared_patient_pair.idle, "everything is back to the baseline")


@pytest.fixture
def new_pair(launcher: Launcher, tmp_path: Path) -> Generator[NewPair]:
    """Pairs with other knobs, for one test each."""
    with ExitStack() as stack:

        def start(environment: Mapping[str, str]) -> Pair:
            return stack.enter_context(pair_of(launcher, tmp_path, environment))

        yield start
