"""Owns one strike's life: its trigger, its entry, its stay, its undoing. Each has a bound."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from random import Random
from threading import Event, Lock, Thread

from chaos.clock import seconds
from chaos.contracts import Evidence, Proof, Stack
from chaos.event import Json, Kind, Mark
from chaos.experiment import At, Strike
from chaos.recorder import Recorder
from chaos.specification import Budgets
from chaos.trap import Trap
from chaos.trigger import Tripwire


class Striker:
    """Plays one strike on two threads of its own.

    The fault lives in one, which may hang in the fault's code; the watch stands in the other,
    which never does. What the watch does not see in its bound is a TOOL_ERROR, and the fault's
    thread is left behind: should it ever enter, it is told to undo at once.
    """

    def __init__(
        self, strike: Strike, strike_id: str, recorder: Recorder, budgets: Budgets
    ) -> None:
        self.strike = strike
        self.strike_id = strike_id
        self._recorder = recorder
        self._budgets = budgets
        self._wire = None if isinstance(strike.on, At) else Tripwire(strike.on)
        self._lock = Lock()
        self._cue = Event()  # tripped, or over
        self._over = Event()
        self._entered = Event()
        self._released = Event()
        self._laid = Event()  # in place, where it is a trap; or it will not be
        self._undone = Event()
        self.spent = Event()  # it no longer hurts: undoing begins
        self.done = Event()  # it is undone, or was given up
        self.started = False

    @property
    def bound_s(self) -> float:
        """From the start to `done`, at most."""
        return self._wait_s + self.strike.for_s + 2 * self._budgets.heal_s

    @property
    def has_come(self) -> bool:
        """It struck, or it never will."""
        return self._entered.is_set() or self.done.is_set()

    @property
    def _wait_s(self) -> float:
        on = self.strike.on
        return on.at_s if isinstance(on, At) else self._budgets.trigger_s

    @property
    def lies_in_wait(self) -> bool:
        """It has to be in place before the load is sent: it starts first, and is waited for."""
        return isinstance(self.strike.fault, Trap) and self.strike.on == At(0.0)

    def await_laid(self) -> None:
        """Bounded; what takes longer is told by the watch."""
        self._laid.wait(self._budgets.heal_s)

    def hear(self, mark: Mark) -> None:
        """The recorder tells every mark; the one that is waited for is the cue."""
        if self._wire is None or self._cue.is_set():
            return
        with self._lock:
            trips = self._wire.trips(mark)
        if trips:
            self._cue.set()

    def start(self, stack: Stack, rng: Random) -> None:
        """The load begins now, or will once a trap is laid: wait for the trigger, then strike."""

        def hurt() -> None:
            self._hurt(stack, rng)

        self.started = True
        self._thread("watch", lambda: self._watch(hurt))

    def end(self) -> None:
        """Nothing further can be seen: do not strike any more, or undo."""
        self._over.set()
        self._cue.set()
        self._released.set()

    def _thread(self, what: str, target: Callable[[], None]) -> None:
        Thread(target=target, name=f"{what} {self.strike_id}", daemon=True).start()

    def _watch(self, hurt: Callable[[], None]) -> None:
        if self._triggered():
            self._thread("fault", hurt)
            self._expect(self._entered, "inject")
            self._released.wait(self.strike.for_s)
            self._released.set()
            self.spent.set()
            self._expect(self._undone, "heal")
        self.spent.set()
        self.done.set()

    def _triggered(self) -> bool:
        came = self._cue.wait(self._wait_s) or self._wire is None
        return came and not self._over.is_set()

    def _expect(self, event: Event, what: str) -> None:
        bound_s = self._budgets.heal_s
        if not event.wait(bound_s):
            self._released.set()
            why = f"{what} did not return within heal_s={bound_s:g} s"
            self._recorder.tool_error("fault", self.strike_id, why)

    def _hurt(self, stack: Stack, rng: Random) -> None:
        """The fault's own thread."""
        began_ns = self._recorder.now_ns()
        try:
            with self._injected(stack, rng) as proof:
                # It hurts from here on, however long the reading of its proof may take.
                at_ns = self._recorder.now_ns()
                entry_s = seconds(at_ns - began_ns)
                self._note(Kind.STRUCK, at_ns, self._read(proof), entry_s=entry_s)
                self._entered.set()
                self._released.wait(self.strike.for_s + self._budgets.heal_s)
                evidence = self._read(proof)
            self._note(Kind.HEALED, self._recorder.now_ns(), evidence)
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise to
            self._recorder.tool_error("fault", self.strike_id, repr(error))
        finally:
            self._released.set()
            self._laid.set()
            self._entered.set()
            self._undone.set()

    @contextmanager
    def _injected(self, stack: Stack, rng: Random) -> Generator[Proof]:
        fault = self.strike.fault
        if isinstance(fault, Trap):
            with fault.lay(stack, rng) as spring:
                self._laid.set()
                with spring() as proof:
                    yield proof
        else:
            with fault.inject(stack, rng) as proof:
                yield proof

    def _read(self, proof: Proof) -> Evidence:
        try:
            return proof.read()
        except Exception as error:  # noqa: BLE001 - whatever it is, the undoing must follow
            self._recorder.tool_error("fault", self.strike_id, f"proof: {error!r}")
            return Evidence(False)

    def _note(self, kind: Kind, at_ns: int, evidence: Evidence, **more: Json) -> None:
        detail = {**evidence.detail, **more, "bit": evidence.bit}
        self._recorder.accept(Mark(at_ns, "fault", kind, self.strike_id, detail=detail))
