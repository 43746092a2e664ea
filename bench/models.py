"""Random models in folders for the benchmarks, made once from a seed by Transformers."""
import json
import os

import common


def smollm2(tiny):
    """SmolLM2-135M's shape: a Llama with grouped heads and tied embeddings, which has no dropout."""
    stem = common.FILES / ("smollm2-tiny" if tiny else "smollm2-135m")
    if not (stem / "model.safetensors").exists():
        import torch
        import transformers
        torch.manual_seed(42)
        sizes = (dict(hidden_size=96, intermediate_size=256, num_hidden_layers=2, num_attention_heads=3,
                      num_key_value_heads=1, vocab_size=1000) if tiny else
                 dict(hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
                      num_key_value_heads=3, vocab_size=49152))
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
            max_position_embeddings=8192, rope_theta=100000.0, rms_norm_eps=1e-5, tie_word_embeddings=True,
            bos_token_id=0, eos_token_id=0, **sizes))
        model.save_pretrained(stem)
        (stem / "generation_config.json").unlink(missing_ok=True)
    return stem, json.loads((stem / "config.json").read_text())


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
    if config["model_type"] == "llama":
        width, layers = config["hidden_size"], config["num_hidden_layers"]
        keys = width * config["num_key_value_heads"] // config["num_attention_heads"]
        block_weights = 2 * width * width + 2 * width * keys + 3 * width * config["intermediate_size"]
    else:
        width, layers = config["n_embd"], config["n_layer"]
        block_weights = 12 * width * width
    weights = layers * block_weights + width * config["vocab_size"]
    attention = layers * 3 * 2 * 2 * block * block * width / 2
    return 6 * weights * batch * block + attention * batch
