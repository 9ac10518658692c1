"""What an operator of a prefill/decode stack has been told to look at, before any run.

The names are the router's and SGLang's own, so that the embedded stack and a real one share them.
"""

from __future__ import annotations

from chaos.specification import Alert

# Longer than any healthy stay in a queue under the suites' loads, shorter than the detection
# budget. A pinned gauge is the incident's own signal: prefill inflight = 1, and it never fell.
PINNED_FOR_S = 3.0
# The router needs two failed health checks, a second each; a page that does not answer for longer
# than that is a signal of its own.
UNREADABLE_FOR_S = 4.0

# A launch was given fewer splits than its knob asks for: the knob is wrong for this GPU. Only the
# embedded engine says so, and an alert that nothing can be read for would prove nothing elsewhere.
KERNEL_CLAMPED = Alert(
    "kernel_clamped", "decode-*/sglang:kernel_clamped_total", ">=", 1.0, for_s=0.2
)

ALERTS = (
    Alert("smg_worker_health", "router/smg_worker_health{*}", "==", 0.0, for_s=0.2),
    Alert("health_page", "*/health", ">=", 500.0, for_s=0.2),
    Alert(
        "prefill_inflight_pinned",
        "prefill-*/sglang:num_prefill_inflight_queue_reqs",
        "pinned",
        for_s=PINNED_FOR_S,
    ),
    Alert(
        "prefill_bootstrap_pinned",
        "prefill-*/sglang:num_prefill_bootstrap_queue_reqs",
        "pinned",
        for_s=PINNED_FOR_S,
    ),
    Alert(
        "decode_transfer_pinned",
        "decode-*/sglang:num_decode_transfer_queue_reqs",
        "pinned",
        for_s=PINNED_FOR_S,
    ),
    Alert("metrics_unreadable", "*-*", "unreadable", for_s=UNREADABLE_FOR_S),
)
