"""The AOT table as a file: what each compiled kernel takes, and so how many CTAs are resident.

Pure: read by the prover and by the engine without Triton. One line per row, so that a change of
compiler or kernel is a diff that can be read.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from kernels.device import ARCHITECTURES, GPUS, gpu
from kernels.occupancy import Resources, ctas_at_least, ctas_per_multiprocessor
from kernels.pin import TESTED

GOLDEN = Path(__file__).with_name("golden") / f"triton-{TESTED}.json"
_BY_NAME = {architecture.name: architecture for architecture in ARCHITECTURES}


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel of one configuration on one architecture."""

    configuration: str
    kernel: str
    architecture: str
    threads: int
    registers: int
    spill_bytes: int
    shared_bytes: int
    barriers: int
    tensor_columns: int
    handshakes: tuple[str, ...]
    spill_reason: str = ""

    @property
    def key(self) -> str:
        return f"{self.configuration} {self.kernel} {self.architecture}"

    @property
    def need(self) -> Resources:
        return Resources(
            self.threads, self.registers, self.shared_bytes, self.barriers, self.tensor_columns
        )

    @property
    def ctas(self) -> int:
        """Resident CTAs per multiprocessor."""
        return ctas_per_multiprocessor(self.need, _BY_NAME[self.architecture])

    @property
    def ctas_least(self) -> int:
        """Likewise, with the carve-out that leaves the fewest."""
        return ctas_at_least(self.need, _BY_NAME[self.architecture])

    def resident(self) -> dict[str, int]:
        """R for each named GPU of this architecture."""
        return {
            card.name: card.multiprocessors * self.ctas
            for card in GPUS.values()
            if card.architecture.name == self.architecture
        }

    def complaints(self) -> list[str]:
        """Why this row must not ship."""
        limit = _BY_NAME[self.architecture].shared_block_bytes_max
        found: list[str] = []
        if self.spill_bytes and not self.spill_reason:
            found.append(f"{self.key}: spills {self.spill_bytes} bytes without a spill_reason")
        if self.shared_bytes > limit:
            found.append(f"{self.key}: {self.shared_bytes} bytes of shared memory, {limit} allowed")
        return found


def save(rows: Iterable[Row], path: Path = GOLDEN) -> None:
    """Write the table; the derived columns are for the reader and are not read back."""
    lines = [
        json.dumps({**asdict(row), "ctas": row.ctas, "resident": row.resident()})
        for row in sorted(rows, key=lambda row: row.key)
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def load(path: Path = GOLDEN) -> list[Row]:
    """Read the table back; ValueError that says what to run if there is none."""
    if not path.exists():
        raise ValueError(f"no AOT table {path.name}: run `python -m kernels aot --update`")
    derived = {"ctas", "resident"}
    rows: list[Mapping[str, object]] = json.loads(path.read_text())
    return [_row({key: row[key] for key in row if key not in derived}) for row in rows]


def _row(fields: Mapping[str, object]) -> Row:
    plain = dict(fields)
    handshakes = plain.pop("handshakes")
    assert isinstance(handshakes, list)
    return Row(**plain, handshakes=tuple(handshakes))  # pyright: ignore[reportArgumentType, reportUnknownArgumentType] - the file is ours and a test reads it back


def resident_ctas(configuration: str, gpu_name: str, path: Path = GOLDEN) -> int:
    """R of a shipped configuration on a named GPU; ValueError that lists what there is."""
    return _row_of(configuration, gpu_name, path).resident()[gpu_name]


def resident_least(configuration: str, gpu_name: str, path: Path = GOLDEN) -> int:
    """R where the driver leaves as little shared memory as it may."""
    return _row_of(configuration, gpu_name, path).ctas_least * gpu(gpu_name).multiprocessors


def _row_of(configuration: str, gpu_name: str, path: Path) -> Row:
    """Of a configuration with two kernels the first: the merge of `two_pass` comes after."""
    card = gpu(gpu_name)
    rows = [row for row in load(path) if row.architecture == card.architecture.name]
    fitting = [row for row in rows if row.configuration == configuration]
    fitting = [row for row in fitting if row.kernel != "merge_kernel"]
    if not fitting:
        known = sorted({row.configuration for row in rows})
        raise ValueError(
            f"{configuration!r} was not compiled for {card.architecture.name}: "
            f"choose one of {', '.join(known)}"
        )
    return fitting[0]


def differences(before: Iterable[Row], after: Iterable[Row]) -> list[str]:
    """What changed from one table to the other, a line per value, in words."""
    old = {row.key: asdict(row) for row in before}
    new = {row.key: asdict(row) for row in after}
    lines = [f"- {key}: no longer compiled" for key in sorted(old.keys() - new.keys())]
    lines += [f"+ {key}: not in the table yet" for key in sorted(new.keys() - old.keys())]
    for key in sorted(old.keys() & new.keys()):
        lines += [
            f"~ {key}: {field} {old[key][field]} -> {new[key][field]}"
            for field in old[key]
            if old[key][field] != new[key][field]
        ]
    return lines
