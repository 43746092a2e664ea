#!/usr/bin/env python3
"""Makes tests/goldens/tiny_text_gpt2: a whole model folder of 60 KB, for transcripts of commands.

    tools/golden_tiny_text.py

A GPT-2 of two layers with random bf16 weights from a seed, and a byte-level tokenizer.json made of the
vocabulary of tests/goldens/tokenizers/mini.json, its end-of-text token last. Needs torch and transformers.
"""
import json
import pathlib

import torch
from transformers import AutoTokenizer, GenerationConfig, GPT2Config, GPT2LMHeadModel

GOLDENS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens"
FOLDER = GOLDENS / "tiny_text_gpt2"
END = "<|endoftext|>"


def tokenizer():
    mini = json.loads((GOLDENS / "tokenizers" / "mini.json").read_text(encoding="utf-8"))
    vocab = {t: i for i, t in enumerate(mini["tokens"])}
    vocab.setdefault(END, len(vocab))
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    added = dict(id=vocab[END], content=END, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
    return len(vocab), vocab[END], {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [added], "normalizer": None,
        "pre_tokenizer": byte_level, "post_processor": dict(byte_level, trim_offsets=False), "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": vocab, "merges": mini["merges"]}}


def main():
    size, end, data = tokenizer()
    torch.manual_seed(7)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=size, n_layer=2, n_embd=16, n_head=2, n_positions=128, resid_pdrop=0.0,
                                       embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=end, eos_token_id=end))
    with torch.no_grad():
        for p in model.parameters():
            if p.ndim == 2:
                p.normal_(0, 0.25)
    model.generation_config = GenerationConfig(bos_token_id=end, eos_token_id=end)
    model.to(torch.bfloat16).save_pretrained(FOLDER)
    (FOLDER / "tokenizer.json").write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    config = {"tokenizer_class": "GPT2Tokenizer", "bos_token": END, "eos_token": END, "unk_token": END, "model_max_length": 128}
    (FOLDER / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    assert len(AutoTokenizer.from_pretrained(FOLDER)) == size


main()
