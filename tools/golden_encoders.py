#!/usr/bin/env python3
"""Makes the goldens of tests/goldens/encoders: tiny BERT and RoBERTa models with each head, and what Transformers says.

    tools/golden_encoders.py [MODEL ...]        (no name: all of them)

Each folder holds what a user's model folder holds (config.json, model.safetensors in f32) and expected values:

golden.safetensors   logits.<i>      f32 [tokens, vocab or labels], or [labels] of a sequence's class, of sequence i alone
                     grad.<name>     f32, gradient of `loss` for every parameter by its Hugging Face name (ties once)
golden.json          sequences, token_types
                     labels          of each token (-100: none), or of each sequence
                     loss            mean over labels: cross entropy, or squared error where labels are numbers
                     train           a plain PyTorch loop: rows, types, labels, micro (row indices by step and
                                     micro-batch), settings, losses, grad_norms, lrs, decayed names
"""
import pathlib
import sys

import torch
import transformers
from golden_models import LENGTHS, TRAIN_LENGTHS, golden_train, write_json
from safetensors.torch import save_file
from transformers import BertConfig, RobertaConfig

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "encoders"
VOCAB = 61
SMALL = dict(vocab_size=VOCAB, num_hidden_layers=2, hidden_size=16, num_attention_heads=2, intermediate_size=24,
             hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
BERT = dict(SMALL, max_position_embeddings=32, layer_norm_eps=1e-12)
ROBERTA = dict(SMALL, max_position_embeddings=34, type_vocab_size=1, layer_norm_eps=1e-5)
LABELS = dict(num_labels=3, id2label={0: "entailment", 1: "neutral", 2: "contradiction"},
              label2id={"entailment": 0, "neutral": 1, "contradiction": 2})
NUMBER = dict(num_labels=1, problem_type="regression")

MODELS = {
    "bert_masked_lm": lambda: transformers.BertForMaskedLM(BertConfig(**BERT)),
    "bert_untied_masked_lm": lambda: transformers.BertForMaskedLM(BertConfig(
        **dict(BERT, tie_word_embeddings=False, hidden_act="gelu_new"))),
    "bert_sequence_classification": lambda: transformers.BertForSequenceClassification(BertConfig(**BERT, **LABELS)),
    "bert_regression": lambda: transformers.BertForSequenceClassification(BertConfig(**BERT, **NUMBER)),
    "bert_token_classification": lambda: transformers.BertForTokenClassification(BertConfig(
        **dict(BERT, hidden_act="relu"), **LABELS)),
    "roberta_masked_lm": lambda: transformers.RobertaForMaskedLM(RobertaConfig(**ROBERTA)),
    "roberta_sequence_classification": lambda: transformers.RobertaForSequenceClassification(
        RobertaConfig(**ROBERTA, **LABELS)),
    "roberta_regression": lambda: transformers.RobertaForSequenceClassification(RobertaConfig(**ROBERTA, **NUMBER)),
    "roberta_token_classification": lambda: transformers.RobertaForTokenClassification(RobertaConfig(
        **dict(ROBERTA, hidden_act="tanh"), **LABELS)),
}


def make_model(name):
    """Norms and biases are not the neutral ones of a fresh model, and gradients do not vanish."""
    seed = 2000 + list(MODELS).index(name)
    torch.manual_seed(seed)
    model = MODELS[name]().float().eval()
    model.set_attn_implementation("eager")
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim == 1:
                parameter.copy_((0.0 if parameter_name.endswith("bias") else 1.0) + 0.2 * noise)
            else:
                parameter.copy_(0.3 * noise)
    return model, generator


def make_rows(name, config, lengths, generator):
    """Ids without the padding token, token types 0...0 1...1, and labels as the head wants them."""
    rows, types, labels = [], [], []
    for n in lengths:
        rows.append(torch.randint(3, VOCAB, (n,), generator=generator).tolist())
        first = int(torch.randint(1, n, (1,), generator=generator))
        types.append([0] * first + [min(1, config.type_vocab_size - 1)] * (n - first))
        if name.endswith("regression"):
            labels.append(torch.randn((), generator=generator).item())
        elif name.endswith("sequence_classification"):
            labels.append(int(torch.randint(0, 3, (1,), generator=generator)))
        else:
            kinds = VOCAB if name.endswith("masked_lm") else 3
            of_token = torch.randint(0, kinds, (n,), generator=generator)
            of_token[torch.rand(n, generator=generator) < 0.5] = -100
            of_token[first] = 1
            labels.append(of_token.tolist())
    return rows, types, labels


def count(labels):
    return sum(1 for x in labels if x != -100) if isinstance(labels, list) else 1


def loss_sum(model, row, types, labels):
    """Sum of the losses of a row's labels, and the logits; by Transformers' own loss, which is a mean over them."""
    logits = model(input_ids=torch.tensor([row]), token_type_ids=torch.tensor([types])).logits[0]
    of_row = model(input_ids=torch.tensor([row]), token_type_ids=torch.tensor([types]),
                   labels=torch.tensor([labels])).loss
    return of_row * count(labels), logits


def golden_forward_backward(model, rows, types, labels):
    tensors = {}
    model.zero_grad()
    total = 0.0
    for i, row in enumerate(rows):
        value, logits = loss_sum(model, row, types[i], labels[i])
        total = total + value
        tensors[f"logits.{i}"] = logits.detach().clone()
    loss = total / sum(map(count, labels))
    loss.backward()
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:  # an untied decoder leaves cls.predictions.bias out of use
            tensors[f"grad.{name}"] = parameter.grad.detach().clone().contiguous()
    model.zero_grad()
    return dict(sequences=rows, token_types=types, labels=labels, loss=loss.item()), tensors


def train(model, rows, types, labels):
    values = golden_train(model, list(zip(rows, types, labels)), lambda model, row: loss_sum(model, *row),
                          lambda row: count(row[2]))
    del values["after"]
    return dict(values, rows=rows, types=types, labels=labels)


def make(name):
    torch.set_num_threads(1)
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    model, generator = make_model(name)
    model.save_pretrained(folder)
    values, tensors = golden_forward_backward(model, *make_rows(name, model.config, LENGTHS, generator))
    values = dict(made_by=f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}", **values)
    values["train"] = train(model, *make_rows(name, model.config, TRAIN_LENGTHS, generator))
    save_file(tensors, folder / "golden.safetensors")
    write_json(folder / "golden.json", values)
    for file in ("model.safetensors", "golden.safetensors"):
        (folder / file).chmod(0o644)
    smallest = min((t.abs().max().item(), k) for k, t in tensors.items() if k.startswith("grad."))
    print(f"{name}: {max(f.stat().st_size for f in folder.iterdir()) / 1000:.0f} kB, loss {values['loss']:.4f}, losses "
          f"{values['train']['losses'][0]:.4f} -> {values['train']['losses'][-1]:.4f}, smallest gradient {smallest[1]} "
          f"{smallest[0]:.2e}")


if __name__ == "__main__":
    names = sys.argv[1:] or list(MODELS)
    for wrong in set(names) - set(MODELS):
        raise SystemExit(f"{wrong}: no such golden model; there are {', '.join(MODELS)}")
    for each in names:
        make(each)
