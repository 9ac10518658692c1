"""One request through one strike: the lines that a whole history is put together from."""

from __future__ import annotations

from chaos.history import History
from chaos.judge import judge
from chaos.specification import Alert
from chaos.verdict import Verdict
from tests.chaos.table import CONTROL, RECOVERED, STRUCK, history, played, strike

SENT = "1.0 client sent r1\n 1.05 decode-0 stage r1 stage=admit attempt=7\n"
RIGHT = "1.2 client tokens r1 text=abcdefghijkl\n"
GUARD = "3.9 decode-0 guard r1 guard=waiting_timeout why=silence\n"
REFUSED = "4.0 client refused r1 status=504 error=waiting_timeout\n"
PINNED = Alert("pinned", "prefill-0/inflight", "pinned", for_s=1.0)
STUCK = """
    0.5 signal reading prefill-0/inflight value=0
    2.0 signal reading prefill-0/inflight value=1
    3.0 signal reading prefill-0/inflight value=1
"""
QUIET = "0.5 signal reading prefill-0/inflight value=0\n"


def finished(at_s: float) -> str:
    return f"{at_s} client finished r1 finish_reason=length done=true\n"


def told(load: str, *, before: str = STRUCK, after: str = RECOVERED) -> History:
    control = CONTROL + QUIET
    table = played(load, before, after)
    return history(table, control=control, strikes=[strike()], alerts=[PINNED])


def one(load: str, *, before: str = STRUCK, after: str = RECOVERED) -> Verdict:
    (verdict,) = judge(told(load + QUIET, before=before, after=after))
    return verdict
