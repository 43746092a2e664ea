#!/usr/bin/env python3
"""Makes the goldens of tests/goldens/mlm: tiny masked language models from seeds, and PyTorch's losses of given masks.

    tools/golden_mlm.py [MODEL ...]

Each folder holds what a user's model folder holds (config.json, model.safetensors in f32; bert_tiny also a vocab.txt
that reads English) and golden.json:

    sequences   [{ids, labels}], ids as the model sees them, labels -100 where nothing is to be predicted
    loss, label_tokens    of all sequences, each alone and without padding
    gradients   {name: [sum, sum of magnitudes]} of `loss`, ties once
    train       a plain PyTorch loop: settings, steps[step][micro-batch][row] = {ids, labels}, losses, grad_norms
"""
import json
import pathlib
import string
import sys

import torch
import transformers
from golden_models import adamw_of, vary, write_json
from transformers import AutoModelForMaskedLM, BertConfig, RobertaConfig
from transformers.trainer import Trainer

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "mlm"
WORDS = ("the and of was in to a it on for she he they had with as his her that from out one all no".split() +
         "house river snow road door clock men boats fire letter".split())
BERT_VOCAB = (["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + list(string.ascii_lowercase) +
              ["##" + c for c in string.ascii_lowercase] + [w for w in WORDS if len(w) > 1] + [",", "."])
SMALL = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
CONFIGS = {
    "bert_tiny": lambda: BertConfig(vocab_size=len(BERT_VOCAB), max_position_embeddings=64, **SMALL),
    # Positions begin at pad_token_id + 1; the vocabulary's table has room for none besides.
    "roberta_tiny": lambda: RobertaConfig(vocab_size=61, max_position_embeddings=66, type_vocab_size=1, pad_token_id=1,
                                          bos_token_id=0, eos_token_id=2, **SMALL),
}
FIRST_WORD, MASK = 5, 4
LENGTHS = (17, 9, 23)
STEPS, MICRO, ROWS = 10, 2, 2


def make_model(name):
    seed = 2000 + list(CONFIGS).index(name)
    torch.manual_seed(seed)
    model = AutoModelForMaskedLM.from_config(CONFIGS[name](), attn_implementation="eager").float().eval()
    generator = torch.Generator().manual_seed(seed)
    vary(model, generator)
    return model, generator


def masked_row(length, vocab, generator):
    ids = torch.randint(FIRST_WORD, vocab, (length,), generator=generator)
    labels = torch.full((length,), -100)
    chosen = torch.rand((length,), generator=generator) < 0.3
    chosen[1] = True
    labels[chosen] = ids[chosen]
    ids[chosen & (torch.rand((length,), generator=generator) < 0.8)] = MASK
    return dict(ids=ids.tolist(), labels=labels.tolist())


def nll_sum(model, row):
    logits = model(input_ids=torch.tensor([row["ids"]])).logits[0]
    return torch.nn.functional.cross_entropy(logits, torch.tensor(row["labels"]), ignore_index=-100, reduction="sum")


def label_count(rows):
    return sum(label != -100 for row in rows for label in row["labels"])


def golden_train(model, generator):
    settings = dict(learning_rate=1e-3, adam_beta1=0.9, adam_beta2=0.999, adam_epsilon=1e-8, weight_decay=0.01,
                    max_grad_norm=1.0, lr_scheduler_type="linear", warmup_steps=2, max_steps=STEPS)
    decayed = Trainer.get_decay_parameter_names(None, model)
    named = dict(model.named_parameters())
    optimizer, scheduler = adamw_of(named, decayed, settings)
    steps, losses, norms = [], [], []
    for step in range(STEPS):
        batches = [[masked_row(6 + (5 * step + 3 * m + 7 * r) % 11, model.config.vocab_size, generator)
                    for r in range(ROWS)] for m in range(MICRO)]
        labels = sum(label_count(batch) for batch in batches)
        total = 0.0
        for batch in batches:
            loss = sum(nll_sum(model, row) for row in batch) / labels
            loss.backward()
            total += loss.item()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), settings["max_grad_norm"]).item())
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        steps.append(batches)
        losses.append(total)
    return dict(settings=settings, losses=losses, grad_norms=norms, steps=steps)


def make(name):
    torch.set_num_threads(1)
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    model, generator = make_model(name)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    (folder / "model.safetensors").chmod(0o644)
    if name == "bert_tiny":
        (folder / "vocab.txt").write_text("\n".join(BERT_VOCAB) + "\n")
        (folder / "tokenizer_config.json").write_text(json.dumps(
            dict(tokenizer_class="BertTokenizer", do_lower_case=True, model_max_length=64), indent=2) + "\n")
    sequences = [masked_row(n, model.config.vocab_size, generator) for n in LENGTHS]
    loss = sum(nll_sum(model, row) for row in sequences) / label_count(sequences)
    loss.backward()
    gradients = {n: [p.grad.double().sum().item(), p.grad.double().abs().sum().item()]
                 for n, p in model.named_parameters()}
    model.zero_grad()
    write_json(folder / "golden.json", dict(
        made_by=f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}",
        sequences=sequences, loss=loss.item(), label_tokens=label_count(sequences), gradients=gradients,
        train=golden_train(model, generator)))


for wanted in sys.argv[1:] or CONFIGS:
    make(wanted)
