#!/usr/bin/env python3
"""Tokens and scores of Transformers' generate for the tiny models of tests/goldens/models, over settings that its
goldens leave out: tests/goldens/generate/cases.json. Needs Python with torch and Transformers.

    tools/golden_generate.py [COUNT]     one file of COUNT cases (default 60), from a fixed seed

A case is {model, prompt, settings, sequences, scores}: new tokens only, cut behind the end token; scores for beams.
"warp" holds rows of scores and what the warpers of sampling leave of them: {settings, scores, kept: [[token, score]]}.
Values are f32 on the CPU; a case is left out unless an f64 copy of the model finds the same tokens.
"""
import json
import pathlib
import random
import sys

import torch
import transformers
from transformers import AutoModelForCausalLM, GenerationConfig
from transformers.generation import logits_process as warpers

GOLDENS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens"
MODELS = ["gpt2_tiny", "llama_tied_tiny", "llama_untied_tiny", "qwen2_tiny", "mistral_tiny", "llama3_rope_tiny"]
VOCAB = 61


def settings_of(r):
    s = {"max_new_tokens": r.randint(1, 24)}
    if r.random() < 0.3:
        s = {"max_length": r.randint(14, 40)}
    if r.random() < 0.75:
        s["num_beams"] = r.choice([2, 3, 4, 7])
        s["length_penalty"] = r.choice([1.0, 0.0, 2.0, -1.0, 0.6])
        s["early_stopping"] = r.choice([False, True, "never"])
        s["num_return_sequences"] = r.randint(1, s["num_beams"])
    ends = r.choice([0, 1, 1, 2, 5])
    if ends:
        s["eos_token_id"] = sorted(r.sample(range(VOCAB), ends))
    if r.random() < 0.3:
        s["repetition_penalty"] = r.choice([1.1, 1.7, 0.8])
    if r.random() < 0.3:
        s["no_repeat_ngram_size"] = r.choice([1, 2, 3])
    if r.random() < 0.3:
        s["min_new_tokens"] = r.randint(1, 6)
    elif r.random() < 0.3:
        s["min_length"] = r.randint(1, 16)
    if r.random() < 0.3:
        s["bad_words_ids"] = [[r.randrange(VOCAB) for _ in range(r.choice([1, 1, 2, 3]))] for _ in range(r.randint(1, 12))]
    if r.random() < 0.15:
        s["suppress_tokens"] = sorted(r.sample(range(VOCAB), 9))
    if r.random() < 0.15:
        s["begin_suppress_tokens"] = sorted(r.sample(range(VOCAB), 9))
    if "suppress_tokens" not in s and r.random() < 0.1:
        s["forced_eos_token_id"] = r.randrange(VOCAB)
    if r.random() < 0.3:
        s["renormalize_logits"] = True
    return s


def generated(model, prompt, settings):
    model.generation_config = GenerationConfig(pad_token_id=0)
    ids = torch.tensor([prompt])
    with torch.no_grad():
        out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, return_dict_in_generate=True,
                             output_scores=True, **settings)
    rows = []
    ends = set(settings.get("eos_token_id", []))
    for row in out.sequences[:, len(prompt):].tolist():
        end = next((i for i, t in enumerate(row) if t in ends), len(row) - 1)
        rows.append(row[:end + 1])
    scores = out.sequences_scores.tolist() if settings.get("num_beams", 1) > 1 else []
    return rows, scores


def cases(count):
    r = random.Random(7)
    models = {name: AutoModelForCausalLM.from_pretrained(GOLDENS / "models" / name, attn_implementation="eager").eval() for name in MODELS}
    exact = {name: AutoModelForCausalLM.from_pretrained(GOLDENS / "models" / name, attn_implementation="eager").double().eval() for name in MODELS}
    found, left_out = [], 0
    while len(found) < count:
        name = r.choice(MODELS)
        prompt = [r.randrange(VOCAB) for _ in range(r.randint(1, 13))]
        settings = settings_of(r)
        rows, scores = generated(models[name], prompt, settings)
        # An unfinished place among the results is filled with padding by the peer and means nothing.
        if generated(exact[name], prompt, settings)[0] != rows or any(s < -1e8 for s in scores):
            left_out += 1
            continue
        found.append(dict(model=name, prompt=prompt, settings=settings, sequences=rows, scores=[round(s, 6) for s in scores]))
    print(f"{count} cases, {left_out} left out")
    return found


def warped(count):
    r = random.Random(11)
    g = torch.Generator().manual_seed(3)
    found = []
    for _ in range(count):
        n = r.choice([7, 40, 300])
        scores = (torch.randn(1, n, generator=g) * r.choice([0.5, 2.0, 5.0])).to(torch.float16).float()
        s = {"temperature": r.choice([1.0, 0.7, 1.5]), "top_k": r.choice([0, 1, 5, 50]), "top_p": r.choice([1.0, 0.9, 0.5, 0.01])}
        if r.random() < 0.4:
            s["min_p"] = r.choice([0.0, 0.05, 0.5])
        out = scores
        if s["temperature"] != 1.0:
            out = warpers.TemperatureLogitsWarper(s["temperature"])(None, out)
        if s["top_k"]:
            out = warpers.TopKLogitsWarper(s["top_k"])(None, out)
        if s["top_p"] < 1.0:
            out = warpers.TopPLogitsWarper(s["top_p"])(None, out)
        if "min_p" in s:
            out = warpers.MinPLogitsWarper(s["min_p"])(None, out)
        if r.random() < 0.2:
            s["renormalize_logits"] = True
            out = warpers.LogitNormalization()(None, out)
        kept = [[i, round(v, 5)] for i, v in enumerate(out[0].tolist()) if v > float("-inf")]
        found.append(dict(settings=s, scores=[round(v, 5) for v in scores[0].tolist()], kept=kept))
    return found


def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    folder = GOLDENS / "generate"
    folder.mkdir(parents=True, exist_ok=True)
    lines = lambda entries: "[\n  " + ",\n  ".join(json.dumps(e, separators=(",", ":")) for e in entries) + "]"
    made_by = f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}"
    (folder / "cases.json").write_text(f'{{"made_by": "{made_by}",\n"warp": {lines(warped(30))},\n"cases": {lines(cases(count))}}}\n')


if __name__ == "__main__":
    main()
