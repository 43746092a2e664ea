#!/usr/bin/env python3
"""Makes tests/goldens/ner: tiny encoders with tokenizers, words with labels, and ten losses of plain PyTorch.

    tools/golden_ner.py

train.jsonl          rows of words (tokens) with a label each (ner_tags)
bert/, roberta/      model folders as Transformers saves them: token classification, dropout 0; the tokenizer of roberta
                     puts no space before a text, as that of the real one
*/golden.json        ids, tags       of each row as run_ner makes them, cut to 24 tokens; tags are -100 but at the first
                     token of a word; all_tags with --label_all_tokens
                     steps           the rows of each step
                     losses, grad_norms   of ten steps of 4 rows in the order of the file (the last of an epoch shorter):
                     torch.optim.Adam(lr, weight_decay), no clipping, no schedule, one row at a time without padding
                     after           eval loss of batches of 8 rows, and the metrics of seqeval
                     predictions     the lines of run_ner's predictions.txt
"""
import json
import pathlib

import torch
from seqeval.metrics import accuracy_score, f1_score, precision_score, recall_score
from tokenizers import ByteLevelBPETokenizer
from transformers import (AutoTokenizer, BertConfig, BertForTokenClassification, BertTokenizerFast, RobertaConfig,
                          RobertaForTokenClassification, RobertaTokenizerFast)

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "ner"
STEPS, BATCH, EVAL_BATCH, LENGTH, RATE, DECAY = 10, 4, 8, 24, 1e-3, 0.01
LEARNT = {"bert": 40, "roberta": 60}  # steps
TEXTS = """
Anna/B-PER Lindqvist/I-PER took/O the/O ferry/O to/O Oslo/B-LOC ./O
The/O mayor/O of/O New/B-LOC Harbour/I-LOC met/O Peter/B-PER Marsh/I-PER on/O Monday/O ./O
Nobody/O at/O Brightwater/B-ORG Shipping/I-ORG knew/O who/O "Old/B-PER Tom"/I-PER was/O ./O
In/O 1887/O the/O Royal/B-ORG Society/I-ORG of/I-ORG Arts/I-ORG moved/O to/O London/B-LOC ,/O and/O later/O it/O moved/O
Oslo/B-LOC is/O colder/O than/O London/B-LOC ./O
Marsh/B-PER and/O Lindqvist/B-PER wrote/O to/O the/O Society/B-ORG ./O
Grüße/O aus/O Zürich/B-LOC ,/O schrieb/O Jürg/B-PER ./O
Snow/O fell/O on/O the/O hills/O ./O
He/O sold/O antidisestablishmentarianism/O by/O the/O yard/O in/O New/B-LOC Harbour/I-LOC while/O uninterestingly/O
Brightwater/B-ORG bought/O the/O Harbour/B-ORG Line/I-ORG ./O
Anna/B-PER met/O Jürg/B-PER in/O Zürich/B-LOC ./O
"""
ROWS = [[tuple(word.rsplit("/", 1)) for word in line.split()] for line in TEXTS.strip().split("\n")]
LABELS = sorted({label for row in ROWS for _, label in row})


def words_of(i):
    return [w for w, _ in ROWS[i]]


def bert_tokenizer(folder):
    text = " ".join(w for i in range(len(ROWS)) for w in words_of(i)).lower()
    pieces = sorted(set("".join(c if c.isalnum() else f" {c} " for c in text).split()))
    letters = sorted({c for piece in pieces for c in piece if c.isalnum()})
    some = pieces[::2] + [x for c in letters for x in (c, "##" + c) if x not in pieces[::2]]
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + some) + "\n")
    return BertTokenizerFast(vocab=str(folder / "vocab.txt"), do_lower_case=True, model_max_length=48)


def roberta_tokenizer(folder):
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator([" ".join(words_of(i)) for i in range(len(ROWS))], vocab_size=330, min_frequency=2,
                            special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    bpe.save_model(str(folder))
    return RobertaTokenizerFast.from_pretrained(str(folder), model_max_length=48)


def make(name):
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = (roberta_tokenizer if name == "roberta" else bert_tokenizer)(folder)
    torch.manual_seed(13)
    common = dict(vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                  intermediate_size=24, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                  id2label=dict(enumerate(LABELS)), label2id={l: i for i, l in enumerate(LABELS)})
    if name == "roberta":
        config = RobertaConfig(max_position_embeddings=50, type_vocab_size=1, pad_token_id=tokenizer.pad_token_id,
                               bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id, **common)
        model = RobertaForTokenClassification(config)
    else:
        model = BertForTokenClassification(BertConfig(max_position_embeddings=48, **common))
    with torch.no_grad():
        for key, p in model.named_parameters():
            noise = torch.randn(p.shape)
            p.copy_((0.0 if key.endswith("bias") else 1.0) + 0.2 * noise if p.ndim == 1 else 0.3 * noise)
    model.eval()  # dropout is 0 anyway
    tokenizer.save_pretrained(folder)
    more = dict(add_prefix_space=True) if name == "roberta" else {}
    return model, AutoTokenizer.from_pretrained(folder, **more)


def golden(name):
    model, tokenizer = make(name)
    inside = [LABELS.index("I" + l[1:]) if l.startswith("B-") and "I" + l[1:] in LABELS else i for i, l in enumerate(LABELS)]
    ids, tags, all_tags = [], [], []
    for row in ROWS:
        encoded = tokenizer([w for w, _ in row], is_split_into_words=True, truncation=True, max_length=LENGTH)
        ids.append(encoded["input_ids"])
        first, every, before = [], [], None
        for word in encoded.word_ids():
            label = -100 if word is None else LABELS.index(row[word][1])
            starts = word is not None and word != before
            first.append(label if starts else -100)
            every.append(label if starts or word is None else inside[label])
            before = word
        tags.append(first)
        all_tags.append(every)

    def logits_of(i):
        return model(input_ids=torch.tensor([ids[i]])).logits[0]

    def loss_of(i):
        return torch.nn.functional.cross_entropy(logits_of(i), torch.tensor(tags[i]), reduction="sum")

    def count(rows):
        return sum(t != -100 for i in rows for t in tags[i])

    # Something is learnt before, so that the metrics are neither 0 nor 1.
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(LEARNT[name]):
        optimizer.zero_grad()
        (sum(loss_of(i) for i in range(6)) / count(range(6))).backward()
        optimizer.step()
    model.save_pretrained(FOLDER / name)

    out = dict(ids=ids, tags=tags, all_tags=all_tags, losses=[], grad_norms=[], steps=[])
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, weight_decay=DECAY)
    per_epoch = -(-len(ROWS) // BATCH)
    for step in range(STEPS):
        first = step % per_epoch * BATCH
        batch = list(range(first, min(first + BATCH, len(ROWS))))
        optimizer.zero_grad()
        loss = sum(loss_of(i) for i in batch) / count(batch)
        loss.backward()
        out["grad_norms"].append(torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]).item())
        optimizer.step()
        out["losses"].append(loss.item())
        out["steps"].append(batch)
    with torch.no_grad():
        best = [logits_of(i).argmax(-1).tolist() for i in range(len(ROWS))]
        total = 0
        for first in range(0, len(ROWS), EVAL_BATCH):
            batch = range(first, min(first + EVAL_BATCH, len(ROWS)))
            total += sum(loss_of(i).item() for i in batch) / count(batch) * len(batch)
        out["logits"] = logits_of(0).tolist()
    expected = [[LABELS[t] for t in tags[i] if t != -100] for i in range(len(ROWS))]
    got = [[LABELS[b] for b, t in zip(best[i], tags[i]) if t != -100] for i in range(len(ROWS))]
    out["after"] = dict(loss=total / len(ROWS), precision=float(precision_score(expected, got)), recall=float(recall_score(expected, got)),
                        f1=float(f1_score(expected, got)), accuracy=float(accuracy_score(expected, got)))
    out["predictions"] = [" ".join(row) for row in got]
    (FOLDER / name / "golden.json").write_text(json.dumps(out) + "\n")
    print(name, out["losses"], out["after"])


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "train.jsonl", "w", encoding="utf-8") as f:
        for row in ROWS:
            f.write(json.dumps({"tokens": [w for w, _ in row], "ner_tags": [l for _, l in row]}, ensure_ascii=False) + "\n")
    golden("bert")
    golden("roberta")


main()
