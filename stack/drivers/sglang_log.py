"""From a line of a real SGLang server's log to a mark, when the line names the request.

Two kinds of lines do. With --log-requests, its HTTP process writes one JSON line when a request
came and one when it ended; and its scheduler warns of each request that it fails, with the reason
in plain text. The field `rid` of a request's body is our id of it, and the number of its batch.
"""

from __future__ import annotations

import json
import re
import time
from typing import Any, Final

from chaos.event import Json, Kind, Mark
from chaos.stage import Stage

STAGES: Final = frozenset(
    {Stage.CLIENT, Stage.INTAKE, Stage.HANDOVER, Stage.STREAM, Stage.ENDING, Stage.CLEANUP}
)
_RID: Final = re.compile(r"\b(?:decode_)?req\.(?:req\.)?rid='([^']*)'")
# SGLang's own words, and the guard that speaks them.
_GUARDS: Final = (
    ("in KVPoll.Bootstrapping", "bootstrap_timeout"),
    ("in KVPoll.WaitingForInput", "waiting_timeout"),
    ("Lost connection with prefill instance", "heartbeat_to_prefill"),
    ("Could not fetch prefill parallel info", "prefill_info_attempts"),
    ("Aborted by AbortReq", "abort_propagation"),
)
_PROBES: Final = "HEALTH_CHECK"  # of the health pages, which make requests of their own
_WORD_CHARS_MAX: Final = 200


def mark(node: str, line: str) -> Mark | None:
    """What this line of this node's log amounts to, stamped now: its clock has whole seconds."""
    begin = line.find('{"timestamp"')
    found = _of_request(node, line[begin:]) if begin >= 0 else _of_guard(node, line)
    return None if found is None or found.about.startswith(_PROBES) else found


def _of_guard(node: str, line: str) -> Mark | None:
    rid = _RID.search(line)
    guard = next((guard for words, guard in _GUARDS if words in line), None)
    if rid is None or guard is None:
        return None
    why = line[rid.start() :][:_WORD_CHARS_MAX]
    detail: dict[str, Json] = {"guard": guard, "why": why}
    return Mark(time.monotonic_ns(), node, Kind.GUARD, _own(rid[1]), detail=detail)


def _of_request(node: str, text: str) -> Mark | None:
    try:
        entry: Any = json.loads(text)
        stage = _stage(node, str(entry["event"]), entry)
        rid, room = entry["rid"], entry["obj"].get("bootstrap_room")
        key: Any = entry["headers"]["x-smg-routing-key"] if "headers" in entry else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    if stage is None or not isinstance(rid, str):
        return None
    detail: dict[str, Json] = {"routing_key": str(key)} if key else {}
    attempt = room if isinstance(room, int) else None
    return Mark(time.monotonic_ns(), node, Kind.STAGE, _own(rid), stage, attempt, detail)


def _stage(node: str, event: str, entry: Any) -> Stage | None:  # noqa: ANN401 - parsed JSON
    if event == "request.received":
        return Stage.INTAKE
    if event != "request.finished":
        return None
    reason = entry["out"]["meta_info"].get("finish_reason")
    if reason and reason["type"] == "abort":
        return Stage.CLEANUP
    # A prefill answers when its KV has been taken over; a decode when its last token is made.
    return Stage.HANDOVER if node.startswith("prefill") else Stage.ENDING


def _own(rid: str) -> str:
    """ "r1#7" is our r1, of batch 7: see stack.load_generator.exchange."""
    return rid.rpartition("#")[0] or rid
