#!/usr/bin/env python3
"""Makes tests/goldens/qa/seq2seq.json: questions of tests/goldens/qa answered by the T5 and BART of tests/goldens/pairs as
run_seq2seq_qa trains and evaluates them: ten losses of a plain PyTorch loop, the loss afterwards, the generated answers by
id (one beam, and four) and their scores by SQuAD's rules.

    tools/golden_seq2seq_qa.py
"""
import json
import pathlib
import sys

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from golden_models import write_json  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens"
SOURCE, TARGET, STEPS, BATCH, RATE = 44, 12, 10, 4, 1e-3


def rows():
    return [json.loads(line) for line in open(ROOT / "qa" / "flat.jsonl")]


def encode(tokenizer, row):
    # As run_seq2seq_qa's preprocess_squad_batch.
    source = " ".join(["question:", row["question"].lstrip(), "context:", row["context"].lstrip()])
    target = row["answers"]["text"][0] if row["answers"]["text"] else ""
    return (tokenizer(source, max_length=SOURCE, truncation=True).input_ids,
            tokenizer(text_target=target, max_length=TARGET, truncation=True).input_ids)


def nll(model, source, target):
    return model(input_ids=torch.tensor([source]), labels=torch.tensor([target])).loss * len(target)


def batches_of(pairs):
    return [pairs[i:i + BATCH] for i in range(0, len(pairs), BATCH)]


def loss_of(model, batch):
    """The mean over the label tokens of the batch."""
    return sum(nll(model, *pair) for pair in batch) / sum(len(target) for _, target in batch)


def train(model, pairs):
    losses, batches = [], batches_of(pairs)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
    for step in range(STEPS):
        loss = loss_of(model, batches[step % len(batches)])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def generate(model, tokenizer, sources, beams):
    answers = []
    for ids in sources:
        with torch.no_grad():
            out = model.generate(torch.tensor([ids]), max_length=TARGET, num_beams=beams, do_sample=False)
        answers.append(tokenizer.decode(out[0], skip_special_tokens=True))
    return answers


def make(name):
    folder = ROOT / "pairs" / name
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, attn_implementation="eager").float().eval()
    data = rows()
    pairs = [encode(tokenizer, row) for row in data]
    losses = train(model, pairs)
    with torch.no_grad():
        total = sum(len(batch) * loss_of(model, batch).item() for batch in batches_of(pairs)) / len(pairs)
    ids = [row["id"] for row in data]
    values = dict(losses=losses, eval_loss=total,
                  **{f"beams_{n}": dict(zip(ids, generate(model, tokenizer, [source for source, _ in pairs], n))) for n in (1, 4)})
    print(name, losses[0], losses[-1], values["eval_loss"], values["beams_1"], values["beams_4"])
    return values


if __name__ == "__main__":
    torch.set_num_threads(1)
    write_json(ROOT / "qa" / "seq2seq.json", {name: make(name) for name in ("t5", "bart")})
