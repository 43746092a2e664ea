"""Random GPT-2 folders for the benchmarks, made once from a seed by Transformers."""
import json
import os

import common


def folder(dropout, tiny):
    """GPT-2 124M (as the hub's `gpt2`) or a tiny one, without an end token; dropout variants share their weights."""
    stem = common.FILES / ("gpt2-tiny" if tiny else "gpt2")
    weights = stem / "model.safetensors"
    if not weights.exists():
        import torch
        import transformers
        torch.manual_seed(42)
        sizes = dict(n_layer=2, n_embd=64, n_head=4, vocab_size=1000, bos_token_id=999,
                     eos_token_id=999) if tiny else {}
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes))
        model.save_pretrained(stem)
        (stem / "generation_config.json").unlink(missing_ok=True)
    place = common.FILES / f"{stem.name}-dropout-{dropout}"
    place.mkdir(parents=True, exist_ok=True)
    config = json.loads((stem / "config.json").read_text())
    config.update(resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout, eos_token_id=None)
    (place / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    link = place / "model.safetensors"
    if not link.exists():
        os.link(weights, link)
    return place, config


def ids(batch, block, vocabulary):
    """The rows that both sides train on: id at flat position i is (i * 7919 + 13) mod vocabulary."""
    return [[(i * 7919 + 13) % vocabulary for i in range(row * block, (row + 1) * block)] for row in range(batch)]


def step_flops(config, batch, block):
    """Model FLOP of a step without recompute: 6 a matmul weight and token, plus causal attention's half square."""
    width, layers = config["n_embd"], config["n_layer"]
    weights = layers * 12 * width * width + width * config["vocab_size"]
    attention = layers * 3 * 2 * 2 * block * block * width / 2
    return 6 * weights * batch * block + attention * batch
