#!/usr/bin/env python3
"""Makes the goldens of tests/goldens/encoders: tiny encoders with each head, and what Transformers says of them.

    tools/golden_encoders.py [MODEL ...]        (no name: all of them)

Each folder holds what a user's model folder holds (config.json, model.safetensors in f32) and expected values:

golden.safetensors   logits.<i>      f32 [tokens, vocab or labels], or [labels] of a sequence's class, of sequence i alone
                     grad.<name>     f32, gradient of `loss` for every parameter by its name in the file (ties once)
                     hidden.<i>      f32 [tokens, hidden], last_hidden_state of sequence i
golden.json          sequences, token_types (of models that take them)
                     labels          of each token (-100: none), or of each sequence
                     loss            mean over labels: cross entropy, or squared error where labels are numbers
                     train           a plain PyTorch loop: rows, types, labels, micro (row indices by step and
                                     micro-batch), settings, losses, grad_norms, lrs, decayed names
"""
import copy
import inspect
import pathlib
import tempfile

import torch
import transformers
from golden_models import LENGTHS, TRAIN_LENGTHS, golden_train, make_named, vary, write_golden
from safetensors.torch import load_file
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

# What every family has; the keys of DistilBERT are others.
PLAIN = dict(vocab_size=VOCAB, num_hidden_layers=2, hidden_size=16, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=32, pad_token_id=0, bos_token_id=1, eos_token_id=2)
NO_DROPOUT = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
NARROW = dict(PLAIN, **NO_DROPOUT, embedding_size=8)
DEBERTA = dict(PLAIN, **NO_DROPOUT, relative_attention=True, max_relative_positions=-1, pos_att_type=["p2c", "c2p"])
# As v3-base; buckets of one distance end at 4.
DEBERTA_V3 = dict(DEBERTA, position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True,
                  position_biased_input=False)
FAMILIES = {
    "xlm_roberta": ("XLMRoberta", dict(ROBERTA, pad_token_id=1)),
    "camembert": ("Camembert", dict(ROBERTA, pad_token_id=1)),
    "distilbert": ("DistilBert", dict(vocab_size=VOCAB, n_layers=2, dim=16, n_heads=2, hidden_dim=24, dropout=0.0,
                                      attention_dropout=0.0, seq_classif_dropout=0.0, max_position_embeddings=32)),
    "mpnet": ("MPNet", dict(PLAIN, **NO_DROPOUT, pad_token_id=1)),
    "electra": ("Electra", NARROW),
    # Three layers of two groups.
    "albert": ("Albert", dict(NARROW, num_hidden_layers=3, num_hidden_groups=2, classifier_dropout_prob=0.0)),
    "nomic_bert": ("NomicBert", dict(PLAIN, **NO_DROPOUT)),
    "gte": ("Gte", dict(PLAIN, **NO_DROPOUT, type_vocab_size=2)),
    # The whole text, a window, a window, the whole text.
    "modernbert": ("ModernBert", dict(PLAIN, num_hidden_layers=4, local_attention=8, classifier_pooling="cls",
                                      cls_token_id=1, sep_token_id=2)),
    "modernbert_mean": ("ModernBert", dict(PLAIN, num_hidden_layers=2, local_attention=8, classifier_pooling="mean",
                                           cls_token_id=1, sep_token_id=2, norm_bias=True, attention_bias=True,
                                           mlp_bias=True, classifier_bias=True)),
    "eurobert": ("EuroBert", dict(PLAIN, num_key_value_heads=1, mask_token_id=3, attention_dropout=0.0)),
    "eurobert_mean": ("EuroBert", dict(PLAIN, mask_token_id=3, classifier_pooling="mean", mlp_bias=True)),
    "eurobert_bos": ("EuroBert", dict(PLAIN, mask_token_id=3, classifier_pooling="bos")),
    "deberta_v2": ("DebertaV2", dict(DEBERTA, conv_kernel_size=3, conv_act="gelu", type_vocab_size=2,
                                     max_relative_positions=6)),
    "deberta_v3": ("DebertaV2", DEBERTA_V3),
    "deberta": ("Deberta", dict(DEBERTA, position_biased_input=False)),
}
PLAIN_NAMES = ("bert", "roberta")  # files of other types may have parameters under other names, or several in one tensor
HEADS = {
    "masked_lm": ("ForMaskedLM", {}),
    "sequence_classification": ("ForSequenceClassification", LABELS),
    "regression": ("ForSequenceClassification", NUMBER),
    "token_classification": ("ForTokenClassification", LABELS),
}
NEW = [("camembert", "masked_lm")]
NEW += [(f, h) for f in ("xlm_roberta", "distilbert", "mpnet", "electra", "albert", "nomic_bert", "gte",
                        "modernbert", "eurobert", "deberta_v2", "deberta_v3", "deberta")
       for h in ("masked_lm", "sequence_classification", "token_classification")]
NEW += [(f, "sequence_classification") for f in ("modernbert_mean", "eurobert_mean", "eurobert_bos")]
NEW += [("distilbert", "regression"), ("modernbert", "regression"), ("deberta_v3", "regression")]


def new_model(family, head):
    prefix, keys = FAMILIES[family]
    ending, more = HEADS[head]
    return lambda: getattr(transformers, prefix + ending)(getattr(transformers, prefix + "Config")(**keys, **more))


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
    **{f"{family}_{head}": new_model(family, head) for family, head in NEW},
}


def make_model(name):
    """Norms and biases are not the neutral ones of a fresh model, and gradients do not vanish."""
    seed = 2000 + list(MODELS).index(name)
    torch.manual_seed(seed)
    model = MODELS[name]().float().eval()
    model.set_attn_implementation("eager")
    generator = torch.Generator().manual_seed(seed)
    vary(model, generator)
    return model, generator


def make_rows(name, config, lengths, generator):
    """Ids without the padding token, token types 0...0 1...1, and labels as the head wants them."""
    rows, types, labels = [], [], []
    for n in lengths:
        rows.append(torch.randint(3, VOCAB, (n,), generator=generator).tolist())
        first = int(torch.randint(1, n, (1,), generator=generator))
        kinds = getattr(config, "type_vocab_size", 1)
        types.append([0] * first + [max(0, min(1, kinds - 1))] * (n - first))
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
    inputs = dict(input_ids=torch.tensor([row]))
    if "token_type_ids" in inspect.signature(model.forward).parameters:
        inputs["token_type_ids"] = torch.tensor([types])
    logits = model(**inputs).logits[0]
    return model(**inputs, labels=torch.tensor([labels])).loss * count(labels), logits


def as_saved(model, values):
    """Values of parameters by the names of a file, where some layers may be one tensor."""
    twin = copy.deepcopy(model)
    with torch.no_grad():
        for name, parameter in twin.named_parameters():
            parameter.copy_(values[name])
    with tempfile.TemporaryDirectory() as folder:
        twin.save_pretrained(folder)
        return load_file(folder + "/model.safetensors")


def hidden_states(model, row, types):
    body = getattr(model, model.base_model_prefix)
    inputs = dict(input_ids=torch.tensor([row]))
    if "token_type_ids" in inspect.signature(body.forward).parameters:
        inputs["token_type_ids"] = torch.tensor([types])
    with torch.no_grad():
        return body(**inputs).last_hidden_state[0].clone()


def golden_forward_backward(model, rows, types, labels):
    tensors = {}
    model.zero_grad()
    total = 0.0
    for i, row in enumerate(rows):
        value, logits = loss_sum(model, row, types[i], labels[i])
        total = total + value
        tensors[f"logits.{i}"] = logits.detach().clone()
        if model.config.model_type not in PLAIN_NAMES:
            tensors[f"hidden.{i}"] = hidden_states(model, row, types[i])
    loss = total / sum(map(count, labels))
    loss.backward()
    grads = {n: p.grad.detach().clone().contiguous() for n, p in model.named_parameters() if p.grad is not None}
    if model.config.model_type not in PLAIN_NAMES:
        grads = as_saved(model, grads)
    tensors.update({f"grad.{name}": grad for name, grad in grads.items()})  # an untied decoder leaves a bias unused
    model.zero_grad()
    return dict(sequences=rows, token_types=types, labels=labels, loss=loss.item()), tensors


def train(model, rows, types, labels):
    values = golden_train(model, list(zip(rows, types, labels)), lambda model, row: loss_sum(model, *row),
                          lambda row: count(row[2]))
    del values["after"]
    if model.config.model_type not in PLAIN_NAMES:
        marks = {n: torch.full_like(p, n in values["decayed"]) for n, p in model.named_parameters()}
        values["decayed"] = sorted(n for n, t in as_saved(model, marks).items() if t.min() == 1)
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
    write_golden(folder, tensors, values)


if __name__ == "__main__":
    make_named(make, MODELS)
