#!/usr/bin/env python3
"""Makes the goldens of tests/goldens/multiple_choice: tiny encoders with Transformers' heads ForMultipleChoice.

    tools/golden_multiple_choice.py [MODEL ...]        (no name: all of them)

Each folder holds config.json and model.safetensors, and as tests/goldens/encoders golden.safetensors (logits.<i> of the
choices of row i, grad.<name>) and golden.json: sequences and token_types are lists of three choices, which have different
lengths and are padded for Transformers alone; a label is the number of a choice.

    swag.jsonl, swag.json   rows for run_swag on the classification goldens' BERT: ten losses of a plain PyTorch loop whose
                            rows are made as run_swag makes them, then accuracy and loss of an evaluation and its choices
"""
import inspect
import json
import pathlib
import sys

import torch
import transformers
from golden_encoders import BERT, FAMILIES, ROBERTA, VOCAB, as_saved
from golden_models import TRAIN_LENGTHS, golden_train, vary, write_golden, write_json

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "multiple_choice"
CHOICES = 3
LENGTHS = (4, 7, 3)
MODELS = {"bert": ("Bert", BERT), "roberta": ("Roberta", ROBERTA),
          **{name: FAMILIES[name] for name in ("distilbert", "mpnet", "electra", "albert", "modernbert", "deberta_v3",
                                               "xlm_roberta")}}
MORE = {"electra": dict(summary_last_dropout=0.0)}
SWAG_TOKENS, SWAG_STEPS, SWAG_ROWS = 32, 10, 2


def make_model(name):
    """Norms and biases are not the neutral ones of a fresh model, and gradients do not vanish."""
    seed = 6000 + list(MODELS).index(name)
    torch.manual_seed(seed)
    prefix, keys = MODELS[name]
    config = getattr(transformers, prefix + "Config")(**keys, **MORE.get(name, {}))
    model = getattr(transformers, prefix + "ForMultipleChoice")(config).float().eval()
    model.set_attn_implementation("eager")
    generator = torch.Generator().manual_seed(seed)
    vary(model, generator)
    return model, generator


def make_rows(config, lengths, generator):
    rows = []
    for n in lengths:
        choices, types = [], []
        for k in range(CHOICES):
            length = max(2, n // 2 + (k * 2) % 5)
            choices.append(torch.randint(3, VOCAB, (length,), generator=generator).tolist())
            kinds = getattr(config, "type_vocab_size", 1)
            types.append([0] * (length // 2) + [max(0, min(1, kinds - 1))] * (length - length // 2))
        rows.append((choices, types, int(torch.randint(0, CHOICES, (1,), generator=generator))))
    return rows


def loss_of(model, row):
    """The loss of a row by Transformers' own loss, and the logits of its choices."""
    choices, types, label = row
    longest = max(map(len, choices))
    pad = model.config.pad_token_id

    def padded(lists, filler):
        return torch.tensor([[x + [filler] * (longest - len(x)) for x in lists]])

    inputs = dict(input_ids=padded(choices, pad), attention_mask=padded([[1] * len(x) for x in choices], 0))
    if "token_type_ids" in inspect.signature(model.forward).parameters:
        inputs["token_type_ids"] = padded(types, 0)
    out = model(**inputs, labels=torch.tensor([label]))
    return out.loss, out.logits[0]


def make(name):
    torch.set_num_threads(1)
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    model, generator = make_model(name)
    model.save_pretrained(folder)
    rows = make_rows(model.config, LENGTHS, generator)
    tensors, total = {}, 0.0
    for i, row in enumerate(rows):
        value, logits = loss_of(model, row)
        total = total + value
        tensors[f"logits.{i}"] = logits.detach().clone()
    (total / len(rows)).backward()
    grads = {n: p.grad.detach().clone().contiguous() for n, p in model.named_parameters() if p.grad is not None}
    tensors.update({f"grad.{n}": grad for n, grad in as_saved(model, grads).items()})
    model.zero_grad()
    values = dict(made_by=f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}",
                  sequences=[r[0] for r in rows], token_types=[r[1] for r in rows], labels=[r[2] for r in rows],
                  loss=total.item() / len(rows))
    rows = make_rows(model.config, TRAIN_LENGTHS, generator)
    values["train"] = golden_train(model, rows, loss_of, lambda row: 1)
    del values["train"]["after"]
    marks = {n: torch.full_like(p, n in values["train"]["decayed"]) for n, p in model.named_parameters()}
    values["train"]["decayed"] = sorted(n for n, t in as_saved(model, marks).items() if t.min() == 1)
    values["train"].update(rows=[r[0] for r in rows], types=[r[1] for r in rows], labels=[r[2] for r in rows])
    write_golden(folder, tensors, values)


def swag_rows():
    places, times = ("mill", "old bridge", "river", "town", "café"), ("nine", "ten", "noon", "dawn")
    for i in range(12):
        place, time, label = places[i % 5], times[i % 4], (i * 7) % 4
        endings = [f"at {times[(i + k + 1 - label) % 4]}." for k in range(4)]
        endings[label] = f"to the {place} at {time}, when the wheel turns."
        yield dict(sent1=f"The ferry to the {place} leaves at {time}.", sent2="It goes",
                   **{f"ending{k}": e for k, e in enumerate(endings)}, label=label)


def make_swag():
    torch.set_num_threads(1)
    rows = list(swag_rows())
    with open(ROOT / "swag.jsonl", "w") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    values = {}
    for name in ("bert", "roberta"):
        folder = ROOT.parent / "qa" / name
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        torch.manual_seed(1)
        model = transformers.AutoModelForMultipleChoice.from_pretrained(folder)
        with torch.no_grad():  # the head is new: its values are in the golden's folder
            model.classifier.weight.normal_(0, 0.5)
            for n, p in model.named_parameters():
                if "pooler" in n:
                    p.normal_(0, 0.3)
        model.eval()
        target = ROOT / f"swag_{name}"
        target.mkdir(exist_ok=True)
        model.save_pretrained(target)
        (target / "model.safetensors").chmod(0o644)
        for file in ("tokenizer.json", "tokenizer_config.json"):
            (target / file).write_bytes((folder / file).read_bytes())

        def encode(row):
            first = [row["sent1"]] * 4
            second = [f"{row['sent2']} {row[f'ending{k}']}" for k in range(4)]
            return tokenizer(first, second, truncation=True, max_length=SWAG_TOKENS, padding=True, return_tensors="pt")

        def loss(row):
            out = model(**{k: v[None] for k, v in encode(row).items()}, labels=torch.tensor([row["label"]]))
            return out.loss, out.logits[0]

        with torch.no_grad():
            first = [loss(row) for row in rows]
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
        losses = []
        for step in range(SWAG_STEPS):
            batch = [rows[(step * SWAG_ROWS + k) % len(rows)] for k in range(SWAG_ROWS)]
            value = sum(loss(row)[0] for row in batch) / len(batch)
            value.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(value.item())
        values[name] = dict(eval_loss=sum(l.item() for l, _ in first) / len(rows),
                            eval_accuracy=sum(int(z.argmax()) == r["label"] for (_, z), r in zip(first, rows)) / len(rows),
                            choices=[int(z.argmax()) for _, z in first], losses=losses)
        print(f"swag_{name}: {values[name]['eval_loss']:.4f} {values[name]['eval_accuracy']:.3f}, losses {losses[0]:.4f} -> "
              f"{losses[-1]:.4f}")
    write_json(ROOT / "swag.json", values)


if __name__ == "__main__":
    ROOT.mkdir(parents=True, exist_ok=True)
    names = sys.argv[1:] or [*MODELS, "swag"]
    for wrong in set(names) - {*MODELS, "swag"}:
        raise SystemExit(f"{wrong}: no such golden model; there are {', '.join(MODELS)}, swag")
    for each in names:
        make_swag() if each == "swag" else make(each)
