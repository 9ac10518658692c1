"""A Python process that we start, that can be ended in bounded time, and that dies with us."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ci.benches.effort import NotMeasured

ROOT: Final = Path(__file__).resolve().parents[2]
KILLED_S: Final = 5.0
LAST_WORDS: Final = 200
# The kernel keeps a parent-death signal (1: PR_SET_PDEATHSIG) across exec, and an ignored SIGINT,
# which a shell gives to what it runs in the background and by which nobody could end it.
MORTAL: Final = (
    "import ctypes, os, signal, sys; ctypes.CDLL(None).prctl(1, int(sys.argv[1])); "
    "signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"
)


def spawn(
    words: Sequence[str],
    output: int,
    complaints: int = subprocess.STDOUT,
    cwd: Path = ROOT,
    dies_of: signal.Signals = signal.SIGKILL,
) -> subprocess.Popen[bytes]:
    """`python WORDS` in the checkout's root. When we die, it gets the signal `dies_of`."""
    return subprocess.Popen(  # noqa: S603 - our own interpreter; the words are this package's
        [sys.executable, "-c", MORTAL, str(int(dies_of)), *words],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=complaints,
        process_group=0,  # Ctrl-C in the terminal is for us to handle
    )


def end(child: subprocess.Popen[bytes], unwind_s: float) -> None:
    """Interrupt it, so that it undoes what it did; kill it when that takes too long."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
        try:
            child.wait(unwind_s)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait(KILLED_S)


def told(words: Sequence[str], bound_s: float) -> str:
    """What `python WORDS` prints. NotMeasured: it failed, or did not end in the bound."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as complaints:
        child = spawn(words, output.fileno(), complaints.fileno())
        try:
            code = child.wait(bound_s)
        except subprocess.TimeoutExpired as late:
            raise NotMeasured(f"{' '.join(words)} took longer than {bound_s:.0f} s") from late
        finally:
            end(child, KILLED_S)
        output.seek(0)
        complaints.seek(0)
        if code != 0:
            why = complaints.read().strip()[-LAST_WORDS:]
            raise NotMeasured(f"{' '.join(words)} ended with {code}: {why}")
        return output.read()
