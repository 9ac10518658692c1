"""What clients, routers and operators meet over HTTP."""

import socket

import httpx
from openai import OpenAI

from stack.engine.engine_link import ASK_S
from tests.stack.engine.pair import BOUND_S, Pair
from tests.stack.stopping import stopped

PROMPT = "a prompt of several pages, so that there is something to push " * 4


def test_the_stock_openai_client_understands_the_decode(patient_pair: Pair) -> None:
    body = patient_pair.body(PROMPT, 8, stream_options={"include_usage": True})
    extra = {name: body[name] for name in body if name.startswith("bootstrap_")}
    prefill = patient_pair.leg(patient_pair.prefill, "openai", body)
    with OpenAI(
        base_url=patient_pair.decode.url + "/v1", api_key="none", timeout=BOUND_S
    ) as client:
        chunks = list(
            client.completions.create(
                model="pd-chaos-tiny",
                prompt=PROMPT,
                max_tokens=8,
                temperature=0,
                stream=True,
                stream_options={"include_usage": True},
                extra_body=extra,
            )
        )
    assert prefill.result(BOUND_S).status == 200
    assert [chunk.choices[0].finish_reason for chunk in chunks[:-1]] == [None] * 7 + ["length"]
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 8
    assert len("".join(chunk.choices[0].text for chunk in chunks[:-1])) == 8


def test_a_reply_ends_at_its_stop_text_and_does_not_show_it(patient_pair: Pair) -> None:
    whole = patient_pair.ask("whole", PROMPT, tokens=12)[1].reply
    stop = whole[5:7]
    stopped = patient_pair.ask("stopped", PROMPT, tokens=12, stop=[stop])[1].json["choices"][0]
    assert stopped["text"] == whole[: whole.index(stop)]
    assert stopped["finish_reason"] == "stop"


def test_a_reply_fed_back_is_the_same_tokens(patient_pair: Pair) -> None:
    """A conversation's prefix stays a prefix: the second round finds the first one's pages."""
    reply = patient_pair.ask("round-1", f"first round: {PROMPT}", tokens=40)[1].reply
    before = patient_pair.prefill.figure("prefix_hit_tokens_total")
    patient_pair.ask("round-2", f"first round: {PROMPT}{reply}")
    assert patient_pair.prefill.figure("prefix_hit_tokens_total") - before >= len(PROMPT) - 16


def test_sampling_with_a_seed_is_repeated_and_another_seed_differs(patient_pair: Pair) -> None:
    one, again, other = (
        patient_pair.ask(f"seeded-{n}", PROMPT, tokens=16, temperature=1.0, seed=seed)[1].reply
        for n, seed in enumerate((5, 5, 6))
    )
    assert one == again != other


def test_an_http2_preface_does_not_hurt(patient_pair: Pair) -> None:
    with socket.create_connection(("127.0.0.1", patient_pair.decode.config.port), BOUND_S) as probe:
        probe.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        probe.recv(4096)
    assert patient_pair.decode.alive()


def test_the_loads_page_has_the_queues_of_both_roles(patient_pair: Pair) -> None:
    for worker in (patient_pair.prefill, patient_pair.decode):
        load = worker.get("/v1/loads").json()["loads"][0]
        assert load["disaggregation"]["mode"] == worker.config.role
        assert load["disaggregation"]["prefill_inflight_queue_reqs"] == 0
        assert load["disaggregation"]["decode_transfer_queue_reqs"] == 0


def test_the_admin_door_wants_its_token_and_tells_what_is_armed(patient_pair: Pair) -> None:
    refused = httpx.get(
        f"http://127.0.0.1:{patient_pair.decode.config.admin_port}/pids", timeout=BOUND_S
    )
    assert refused.status_code == 401
    knobs = patient_pair.decode.admin("GET", "/knobs").json()
    assert knobs["PDCHAOS_KV_PAGES"] == 256
    with (
        patient_pair.decode.armed("health.answer", "hold"),
        patient_pair.decode.armed("decode.step", "hold"),
    ):
        page = patient_pair.decode.admin("GET", "/failpoints").json()
        assert {one["site"] for one in page["armed"]} == {"health.answer", "decode.step"}
        assert "transfer.page" in page["sites"]
    assert patient_pair.decode.admin("GET", "/failpoints").json()["armed"] == []


def test_the_admin_door_answers_for_a_frozen_engine_in_its_own_bound(patient_pair: Pair) -> None:
    with stopped(patient_pair.decode.engine_pid()):
        answer = patient_pair.decode.admin("GET", "/knobs")
    assert (answer.status_code, ASK_S) == (504, 0.9)
    assert "did not answer in 0.9 s" in answer.text
