"""Goal: the tiny model's replies depend on the whole prompt: the tokens oracle is not blind.

Method: the model itself, in SGLang's interpreter. One token's KV, in all layers, is exchanged for
that of another prompt at the same place: the reply must change. (Exchanged within one prompt it
could not: a cached key carries its position, and attention does not ask where a row lies.)
"""

from __future__ import annotations

import subprocess

import pytest

from stack.child_environment import child_environment
from stack.drivers.sglang_cpu.environment import SGLANG
from stack.drivers.sglang_model import tiny_model

ASK_MAX_S = 120.0
PLACES = 40
CHANGED_MIN = 38  # of 40: near its end a greedy choice may survive
CODE = """
import sys, torch
from transformers import AutoModelForCausalLM

PROMPT, TOKENS, PLACES = 96, 32, int(sys.argv[2])
torch.manual_seed(7)
model = AutoModelForCausalLM.from_pretrained(sys.argv[1]).eval()
ours, other = (torch.randint(2, 512, (1, PROMPT)) for _ in range(2))

@torch.no_grad()
def prefilled(prompt):
    return model(prompt[:, :-1], use_cache=True).past_key_values

@torch.no_grad()
def reply(place=None):
    cache = prefilled(ours)
    if place is not None:
        for mine, theirs in zip(cache.layers, prefilled(other).layers):
            mine.keys[:, :, place] = theirs.keys[:, :, place]
            mine.values[:, :, place] = theirs.values[:, :, place]
    token, told = ours[:, -1:], []
    for _ in range(TOKENS):
        token = model(token, past_key_values=cache, use_cache=True).logits[:, -1:].argmax(-1)
        told.append(int(token))
    return told

right = reply()
assert right == reply()
places = torch.randperm(PROMPT - 1)[:PLACES].tolist()
print(len(set(right)), sum(reply(one) != right for one in places))
"""
pytestmark = pytest.mark.skipif(not SGLANG.installed(), reason="real SGLang is not installed")


def test_one_token_s_kv_of_another_prompt_changes_the_reply_and_no_reply_repeats_itself() -> None:
    done = subprocess.run(
        [SGLANG.python, "-P", "-c", CODE, str(tiny_model(SGLANG)), str(PLACES)],
        capture_output=True,
        text=True,
        timeout=ASK_MAX_S,
        check=False,
        env=child_environment({"HF_HUB_OFFLINE": "1"}),
    )
    assert done.returncode == 0, done.stderr[-2000:]
    distinct, changed = map(int, done.stdout.split()[-2:])
    assert distinct > 8, "of 32 tokens"
    assert changed >= CHANGED_MIN, f"{changed} of {PLACES}"
