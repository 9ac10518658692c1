"""Proofs that a worker-level fault took effect, read back from the worker itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from chaos.contracts import Evidence
from chaos.event import Json
from chaos.failpoint import Failpoint
from stack.guard_settings import guards_set_by
from stack.worker_admin import AdminSilent, WorkerAdmin


@dataclass(slots=True)
class HitProof:
    """The hit count of an armed failpoint, and the last one that could be read.

    A crash takes the counter away together with the process, and is itself the effect that was
    wanted. It is looked for in the process table alone: a call to a worker that is just dying
    would take a second, and the strike would be written down after its effect.
    """

    admin: WorkerAdmin
    identity: str
    failpoint: Failpoint
    same_process: Callable[[], bool]
    last: dict[str, Json] = field(default_factory=lambda: {"hits": 0})

    def read(self) -> Evidence:
        detail: dict[str, Json] = {
            "node": self.admin.node,
            "site": self.failpoint.site,
            "action": self.failpoint.action,
        }
        if self.failpoint.action == "crash":
            crashed = not self.same_process()
            return Evidence(crashed, {**detail, "crashed": crashed})
        try:
            self.last = self.admin.state(self.identity)
        except AdminSilent as silence:
            detail["unreadable"] = str(silence)
        return Evidence(int(self.last.get("hits") or 0) > 0, {**detail, **self.last})


@dataclass(slots=True)
class KnobProof:
    """The knobs as the restarted worker reads them back, by the guards that they should set.

    A variable whose guard was read from another one has its value, and no effect. Keeps what it
    last read: a bad knob may well hang the process that has it.
    """

    admin: WorkerAdmin
    wanted: Mapping[str, str]
    last: dict[str, Json] = field(default_factory=dict[str, Json])
    deaf: dict[str, Json] = field(default_factory=dict[str, Json])

    def read(self) -> Evidence:
        detail: dict[str, Json] = {"node": self.admin.node}
        try:
            knobs = self.admin.knobs()
            self.last = {name: knobs.get(name) for name in self.wanted}
            self.deaf = self._deaf()
        except AdminSilent as silence:
            detail["unreadable"] = str(silence)
        same = all(_same(self.last.get(name), text) for name, text in self.wanted.items())
        bit = bool(self.last) and same and not self.deaf
        return Evidence(bit, {**detail, **self.last, **self.deaf})

    def _deaf(self) -> dict[str, Json]:
        """From what each guard was read that should listen to a wanted variable and does not."""
        wanted = [(guard, name) for name in self.wanted for guard in guards_set_by(name)]
        read = self.admin.guards() if wanted else {}
        return {
            f"{guard}.read_from": ", ".join(read.get(guard, {})) or "nothing"
            for guard, name in wanted
            if name not in read.get(guard, {})
        }


@dataclass(frozen=True, slots=True)
class RefusedProof:
    """The node did not start with this: its exit code and its last words say so.

    Without an exit code it may only have been slow: that shows nothing.
    """

    node: str
    exit_code: int | None
    last_words: str

    def read(self) -> Evidence:
        detail: dict[str, Json] = {
            "node": self.node,
            "refused": True,
            "exit_code": self.exit_code,
            "last_words": self.last_words,
        }
        return Evidence(bit=self.exit_code is not None, detail=detail)


@dataclass(frozen=True, slots=True)
class ToldProof:
    """A running process that was started with these variables.

    Weaker than a knob that is read back: smg overwrites its environment in /proc with a title.
    """

    node: str
    runs: Callable[[], bool]
    told: Mapping[str, str]

    def read(self) -> Evidence:
        return Evidence(self.runs(), {"node": self.node, "read_back": False, **self.told})


def _same(value: Json, text: str) -> bool:
    """Whether an effective value is what a variable's text says: 512 is "512" and "512.0"."""
    if isinstance(value, bool):
        return text.lower() in ({"1", "true"} if value else {"0", "false"})
    try:
        return value is not None and float(value) == float(text)
    except ValueError:
        return value == text
