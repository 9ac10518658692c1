"""Writes a tiny Llama with random weights, from a seed, for a real engine. Runs in its environment.

The weights are strong (standard deviation 0.25): SGLang's own dummy weights are so small that
greedy decoding repeats one token, and a wrong KV page would change nothing. Only tokens that are
printable ASCII are ever chosen: a piece of a reply is then never half a character, and no reply
ends before its limit.

    python make_model.py FOLDER [SEED]
"""

import json
import random
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM

VOCABULARY = 512
SPREAD = 0.25


def tokenizer(seed):
    """Byte-level BPE, so that any text is a prompt and any reply is text."""
    made = Tokenizer(models.BPE(unk_token=None))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet
    )
    draw = random.Random(f"{seed}/tokenizer")
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(draw.choices(letters, k=draw.randint(3, 7))) for _ in range(2000)]
    made.train_from_iterator([" ".join(words)], trainer)
    return made


def silent(made):
    """The ids that must not be chosen: special ones, and whatever is not printable ASCII."""
    texts = ((one, made.decode([one], skip_special_tokens=True)) for one in range(VOCABULARY))
    return [one for one, text in texts if not (text.isascii() and text.isprintable() and text)]


def model(seed, never):
    torch.manual_seed(seed)
    config = LlamaConfig(
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        vocab_size=VOCABULARY,
        max_position_embeddings=4096,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
        initializer_range=SPREAD,
    )
    made = LlamaForCausalLM(config).to(torch.float32)
    # A row of zeros is a logit of zero, and the highest of hundreds of random ones is above it.
    with torch.no_grad():
        made.lm_head.weight[never] = 0.0
    return made


def main(folder, seed=0):
    folder.mkdir(parents=True, exist_ok=True)
    words = tokenizer(seed)
    model(seed, silent(words)).save_pretrained(folder)
    words.save(str(folder / "tokenizer.json"))
    names = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>"}
    turns = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"
    settings = {
        **names,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 4096,
        "chat_template": turns,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1))
    (folder / "special_tokens_map.json").write_text(json.dumps(names, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
