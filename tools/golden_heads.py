#!/usr/bin/env python3
"""Makes the goldens of tests/goldens/heads: tiny decoders and encoder-decoders that classify sequences, and what
Transformers says.

    tools/golden_heads.py [MODEL ...]        (no name: all of them)

Each folder holds config.json and model.safetensors, and as tests/goldens/encoders golden.safetensors (logits.<i> of each
sequence, grad.<name>) and golden.json (sequences, labels, loss, train). The label of a sequence is a class, a number, or
of several classes a list of 0 and 1. Sequences of decoders may end with padding tokens, which are skipped.
"""
import pathlib

import torch
import transformers
from golden_models import LENGTHS, TRAIN_LENGTHS, golden_train, make_named, vary, write_golden

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "heads"
VOCAB, END, PADDING = 61, 2, 1
THREE = dict(num_labels=3, problem_type="single_label_classification")
NUMBER = dict(num_labels=1, problem_type="regression")
MANY = dict(num_labels=4, problem_type="multi_label_classification")
TOKENS = dict(vocab_size=VOCAB, pad_token_id=PADDING, eos_token_id=END, bos_token_id=0)
LLAMA = dict(TOKENS, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
             num_key_value_heads=1, max_position_embeddings=32)
T5 = dict(vocab_size=VOCAB, pad_token_id=PADDING, eos_token_id=END, decoder_start_token_id=0, d_model=16, d_kv=8, d_ff=24,
          num_layers=2, num_heads=2, dropout_rate=0.0, classifier_dropout=0.0)
BART = dict(TOKENS, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
            encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=32, dropout=0.0, decoder_start_token_id=END,
            classifier_dropout=0.0, forced_eos_token_id=None)
MODELS = {
    "llama": lambda: transformers.LlamaForSequenceClassification(transformers.LlamaConfig(**LLAMA, **THREE)),
    "mistral": lambda: transformers.MistralForSequenceClassification(transformers.MistralConfig(
        **dict(LLAMA, sliding_window=4), **MANY)),
    "qwen2": lambda: transformers.Qwen2ForSequenceClassification(transformers.Qwen2Config(**LLAMA, **NUMBER)),
    "gpt2": lambda: transformers.GPT2ForSequenceClassification(transformers.GPT2Config(
        **TOKENS, n_embd=16, n_layer=2, n_head=2, n_positions=32, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        **THREE)),
    "t5": lambda: transformers.T5ForSequenceClassification(transformers.T5Config(**T5, **THREE)),
    "bart": lambda: transformers.BartForSequenceClassification(transformers.BartConfig(**BART, **THREE)),
}


def make_model(name):
    seed = 4000 + list(MODELS).index(name)
    torch.manual_seed(seed)
    model = MODELS[name]().float().eval()
    model.set_attn_implementation("eager")
    generator = torch.Generator().manual_seed(seed)
    vary(model, generator)
    return model, generator


def make_rows(model, lengths, generator):
    rows, labels = [], []
    config = model.config
    for i, n in enumerate(lengths):
        row = torch.randint(3, VOCAB, (n,), generator=generator).tolist()
        if config.is_encoder_decoder:
            row[-1] = END
        elif i % 3 == 1 and n > 2:
            row[-1] = PADDING
        rows.append(row)
        if config.problem_type == "regression":
            labels.append(torch.randn((), generator=generator).item())
        elif config.problem_type == "multi_label_classification":
            labels.append(torch.randint(0, 2, (config.num_labels,), generator=generator).tolist())
        else:
            labels.append(int(torch.randint(0, config.num_labels, (1,), generator=generator)))
    return rows, labels


def loss_sum(model, row, label):
    many = isinstance(label, list)
    out = model(input_ids=torch.tensor([row]), labels=torch.tensor([label], dtype=torch.float if many else None))
    return out.loss, out.logits[0]


def make(name):
    torch.set_num_threads(1)
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    model, generator = make_model(name)
    model.save_pretrained(folder)
    rows, labels = make_rows(model, LENGTHS, generator)
    tensors, total = {}, 0.0
    for i, (row, label) in enumerate(zip(rows, labels)):
        value, logits = loss_sum(model, row, label)
        total = total + value
        tensors[f"logits.{i}"] = logits.detach().clone()
    (total / len(rows)).backward()
    for parameter_name, parameter in model.named_parameters():
        tensors[f"grad.{parameter_name}"] = parameter.grad.detach().clone().contiguous()
    model.zero_grad()
    values = dict(made_by=f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}",
                  sequences=rows, labels=labels, loss=total.item() / len(rows))
    rows, labels = make_rows(model, TRAIN_LENGTHS, generator)
    values["train"] = golden_train(model, list(zip(rows, labels)), lambda model, row: loss_sum(model, *row), lambda row: 1)
    del values["train"]["after"]
    values["train"].update(rows=rows, labels=labels)
    write_golden(folder, tensors, values)


if __name__ == "__main__":
    make_named(make, MODELS)
