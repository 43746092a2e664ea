#!/usr/bin/env python3
"""Makes tests/goldens/classification: tiny encoders with tokenizers, pairs of texts, and ten losses of plain PyTorch.

    tools/golden_classification.py

train.tsv            rows in the layout of GLUE's MNLI (one without gold label), scores.csv the same with numbers
bert/, roberta/      model folders as Transformers saves them: sequence classification with 3 labels, dropout 0
bert_scores/         the same with one label: regression
*/golden.json        ids, type_ids, targets   of each row as the tokenizer makes them, cut to 32 tokens, the longest first
                     steps           the rows of each step
                     losses, grad_norms   of ten steps of 4 rows in the order of the file (the last of an epoch shorter):
                     torch.optim.Adam(lr, weight_decay), no clipping, no schedule, one row at a time without padding
                     before, after   loss, logits (and accuracy) over all rows
"""
import csv
import json
import pathlib

import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import (BertConfig, BertForSequenceClassification, BertTokenizerFast, RobertaConfig,
                          RobertaForSequenceClassification, RobertaTokenizerFast)

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "classification"
LABELS = ["entailment", "neutral", "contradiction"]
STEPS, BATCH, LENGTH, RATE, DECAY = 10, 4, 32, 1e-3, 0.01
PAIRS = [
    ("The ferry leaves at nine.", "There is a ferry in the morning.", 0, 4.25),
    ("The ferry leaves at nine.", "The ferry is painted green.", 1, 1.5),
    ("The ferry leaves at nine.", "No boat leaves today.", 2, 0.0),
    ("She \"borrowed\" his bicycle for a week.", "She had his bicycle for some days.", 0, 4.0),
    ("She \"borrowed\" his bicycle for a week.", "He never lent anything to anyone, least of all to her.", 2, 0.5),
    ("Snow fell on the hills and the road was closed.", "The road could not be used.", 0, 4.5),
    ("Snow fell on the hills and the road was closed.", "Nobody had expected snow so early.", 1, 2.0),
    ("Two dogs run along the beach.", "Animals are moving.", 0, 3.75),
    ("Two dogs run along the beach.", "The dogs are asleep in the kitchen.", 2, 0.25),
    ("The committee met twice, in May and in June, to settle the question of the bridge, the school, and the old mill "
     "by the river, and it could not agree on any of these.", "They met.", 0, 2.75),
    ("The shop sells bread.", "The bread is made by the owner's brother.", 1, 1.75),
    ("The shop sells bread.", "One can buy bread there.", 0, 5.0),
    ("It was the first time that he had seen the sea.", "He had seen the sea many times before.", 2, 0.75),
    ("It was the first time that he had seen the sea.", "He was a child.", 1, 1.25),
]


def words():
    text = " ".join(a + " " + b for a, b, _, _ in PAIRS).lower()
    pieces = sorted(set("".join(c if c.isalnum() else f" {c} " for c in text).split()))
    letters = sorted({c for piece in pieces for c in piece if c.isalnum()})
    return pieces[::2] + [x for c in letters for x in (c, "##" + c) if x not in pieces[::2]]


def write_data():
    with open(FOLDER / "train.tsv", "w", encoding="utf-8") as f:
        f.write("index\tpromptID\tgenre\tsentence1\tsentence2\tlabel1\tgold_label\n")
        for i, (a, b, label, _) in enumerate(PAIRS):
            f.write(f"{i}\t{i // 3}\tfiction\t{a}\t{b}\t{LABELS[label]}\t{LABELS[label]}\n")
            if i == 4:
                f.write("99\t9\tfiction\tNobody agreed on this one.\tIt has no gold label.\tneutral\t-\n")
    with open(FOLDER / "scores.csv", "w", encoding="utf-8", newline="") as f:
        rows = csv.writer(f)
        rows.writerow(["sentence1", "sentence2", "label"])
        rows.writerows([a, b, score] for a, b, _, score in PAIRS)


def bert_tokenizer(folder):
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + words()) + "\n")
    return BertTokenizerFast(vocab=str(folder / "vocab.txt"), do_lower_case=True, model_max_length=48)


def roberta_tokenizer(folder):
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator([t for a, b, _, _ in PAIRS for t in (a, b)], vocab_size=320, min_frequency=2,
                            special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    bpe.save_model(str(folder))
    return RobertaTokenizerFast.from_pretrained(str(folder), model_max_length=48)


def make(name, labels):
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = (roberta_tokenizer if name == "roberta" else bert_tokenizer)(folder)
    torch.manual_seed(11)
    common = dict(vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                  intermediate_size=24, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=labels)
    if name == "roberta":
        config = RobertaConfig(max_position_embeddings=50, type_vocab_size=1, pad_token_id=tokenizer.pad_token_id,
                               bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id, **common)
        model = RobertaForSequenceClassification(config)
    else:
        model = BertForSequenceClassification(BertConfig(max_position_embeddings=48, **common))
    with torch.no_grad():
        for key, p in model.named_parameters():
            noise = torch.randn(p.shape)
            p.copy_((0.0 if key.endswith("bias") else 1.0) + 0.2 * noise if p.ndim == 1 else 0.3 * noise)
    model.eval()  # dropout is 0 anyway
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer


def golden(name, labels):
    model, tokenizer = make(name, labels)
    rows = [tokenizer(a, b, truncation="longest_first", max_length=LENGTH) for a, b, _, _ in PAIRS]
    types = [row.get("token_type_ids", [0] * len(row["input_ids"])) for row in rows]
    targets = [torch.tensor([p[2]]) if labels > 1 else torch.tensor([p[3]]) for p in PAIRS]

    def logits_of(i):
        inputs = dict(input_ids=torch.tensor([rows[i]["input_ids"]]))
        if name != "roberta":
            inputs["token_type_ids"] = torch.tensor([types[i]])
        return model(**inputs).logits

    def loss_of(i):
        if labels > 1:
            return torch.nn.functional.cross_entropy(logits_of(i), targets[i])
        return torch.nn.functional.mse_loss(logits_of(i).squeeze(), targets[i].squeeze())

    def state():
        with torch.no_grad():
            logits = torch.cat([logits_of(i) for i in range(len(rows))])
            loss = sum(loss_of(i).item() for i in range(len(rows))) / len(rows)
        out = dict(loss=loss, logits=logits.tolist())
        if labels > 1:
            out["accuracy"] = (logits.argmax(-1) == torch.cat(targets)).double().mean().item()
        return out

    out = dict(ids=[row["input_ids"] for row in rows], type_ids=types, targets=[t.item() for t in targets],
               before=state(), losses=[], grad_norms=[], steps=[])
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, weight_decay=DECAY)
    per_epoch = -(-len(rows) // BATCH)
    for step in range(STEPS):
        first = step % per_epoch * BATCH
        batch = list(range(first, min(first + BATCH, len(rows))))
        optimizer.zero_grad()
        loss = sum(loss_of(i) for i in batch) / len(batch)
        loss.backward()
        out["grad_norms"].append(torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]).item())
        optimizer.step()
        out["losses"].append(loss.item())
        out["steps"].append(batch)
    out["after"] = state()
    (FOLDER / name / "golden.json").write_text(json.dumps(out) + "\n")
    print(name, out["before"]["loss"], out["losses"], out["after"].get("accuracy"))


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_data()
    golden("bert", 3)
    golden("roberta", 3)
    golden("bert_scores", 1)


main()
