#!/usr/bin/env python3
"""Makes the goldens of tests/goldens/qa: tiny BERT and RoBERTa models that find answers, the parts of contexts that
Transformers' tokenizers make as run_qa asks them, ten losses of a plain PyTorch loop and the logits of the model.

    tools/golden_qa.py

    <model>/        what a user's model folder holds
    <model>.json    parts: ids, answer (its tokens), spans (of the context's tokens), scores of the untrained model; losses;
                    answers: by the rules of run_qa from these scores
    squad.json      SQuAD's own form; some questions have no answer
    flat.jsonl      the same rows
"""
import json
import pathlib
import shutil

import torch
from golden_models import write_json
from transformers import AutoTokenizer, BertConfig, BertForQuestionAnswering, RobertaConfig, RobertaForQuestionAnswering

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "qa"
TOKENIZERS = ROOT.parent / "classification"
LENGTH, STRIDE = 36, 6
SMALL = dict(hidden_size=16, num_attention_heads=2, num_hidden_layers=2, intermediate_size=24, hidden_dropout_prob=0.0,
             attention_probs_dropout_prob=0.0)
MODELS = {
    "bert": lambda n: BertForQuestionAnswering(BertConfig(vocab_size=n, max_position_embeddings=48, **SMALL)),
    "roberta": lambda n: RobertaForQuestionAnswering(RobertaConfig(
        vocab_size=n, max_position_embeddings=50, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        **SMALL)),
}
CONTEXTS = [
    ("The ferry to the old town leaves at nine, and the café opens at ten.",
     [("When does the ferry leave?", "nine"), ("  What opens at ten?", "the café"), ("Who rows?", None)]),
    ("A river. A Bridge! The mill (of 1830) is by the river; its wheel turns when the water is high in Spring.",
     [("Where is the mill?", "by the river"), ("Which year?", "1830"), ("When does it turn?", "when the water is high")]),
    ("Rain", [("What falls?", "Rain"), ("What shines?", None)]),
]


def make_squad():
    paragraphs, flat, number = [], [], 0
    for context, questions in CONTEXTS:
        qas = []
        for question, answer in questions:
            starts = [context.index(answer)] if answer else []
            texts = [answer] if answer else []
            qas.append(dict(id=f"q{number}", question=question, is_impossible=answer is None,
                            answers=[dict(text=t, answer_start=s) for t, s in zip(texts, starts)]))
            flat.append(dict(id=f"q{number}", context=context, question=question,
                             answers=dict(text=texts, answer_start=starts)))
            number += 1
        paragraphs.append(dict(context=context, qas=qas))
    (ROOT / "squad.json").write_text(json.dumps(
        dict(version="2.0", data=[dict(title="one", paragraphs=paragraphs[:1]),
                                  dict(title="two", paragraphs=paragraphs[1:])]), ensure_ascii=False, indent=1) + "\n")
    with open(ROOT / "flat.jsonl", "w") as file:
        for row in flat:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return flat


def make_parts(tokenizer, rows):
    parts = []
    for row in rows:
        made = tokenizer(row["question"].lstrip(), row["context"], truncation="only_second", max_length=LENGTH, stride=STRIDE,
                         return_overflowing_tokens=True, return_offsets_mapping=True)
        for i, ids in enumerate(made["input_ids"]):
            kinds, offsets = made.sequence_ids(i), made["offset_mapping"][i]
            first, last = kinds.index(1), len(kinds) - 1 - kinds[::-1].index(1)
            answer = [0, 0]
            if row["answers"]["text"]:
                begin = row["answers"]["answer_start"][0]
                end = begin + len(row["answers"]["text"][0])
                if offsets[first][0] <= begin and offsets[last][1] >= end:
                    answer = [max(t for t in range(first, last + 1) if offsets[t][0] <= begin),
                              min(t for t in range(first, last + 1) if offsets[t][1] >= end)]
            parts.append(dict(id=row["id"], ids=ids, types=made["token_type_ids"][i] if "token_type_ids" in made else None,
                              context=first, answer=answer, spans=[list(o) for o in offsets[first:last + 1]]))
    return parts


def find_answers(rows, parts, negatives, n_best=5, longest=6, threshold=0.5):
    """The rules of run_qa in a few lines: every pair of the best tokens of a part competes."""
    predictions, nbest, odds = {}, {}, {}
    for row in rows:
        own = [p for p in parts if p["id"] == row["id"]]
        best = []
        for part in own:
            begins, ends = (sorted(range(len(s)), key=lambda t: -s[t])[:n_best] for s in part["scores"])
            inside = range(part["context"], part["context"] + len(part["spans"]))
            for b in begins:
                for e in ends:
                    if b in inside and e in inside and b <= e < b + longest:
                        text = row["context"][part["spans"][b - part["context"]][0]:part["spans"][e - part["context"]][1]]
                        best.append((part["scores"][0][b] + part["scores"][1][e], text))
        none = min(part["scores"][0][0] + part["scores"][1][0] for part in own)
        if negatives:
            best.append((none, ""))
        best = sorted(best, key=lambda one: -one[0])[:n_best]
        if negatives and not any(text == "" for _, text in best):
            best.append((none, ""))
        if not [text for _, text in best if text]:
            best.insert(0, (0.0, "empty"))
        total = sum(torch.tensor([score for score, _ in best]).exp().tolist())
        nbest[row["id"]] = [[text, torch.tensor(score).exp().item() / total] for score, text in best]
        answer = next((score, text) for score, text in best if text)
        odds[row["id"]] = none - answer[0]
        predictions[row["id"]] = ("" if odds[row["id"]] > threshold else answer[1]) if negatives else best[0][1]
    return dict(predictions=predictions, nbest=nbest, null_odds=odds)


def scores_of(model, part, **labels):
    types = torch.tensor([part["types"]]) if part["types"] else None
    return model(input_ids=torch.tensor([part["ids"]]), token_type_ids=types, **labels)


def make(name, rows):
    folder = ROOT / name
    folder.mkdir()
    tokenizer = AutoTokenizer.from_pretrained(TOKENIZERS / name)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(7)
    model = MODELS[name](len(tokenizer)).float().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.copy_(0.3 * torch.randn(parameter.shape))
    model.save_pretrained(folder)
    parts = make_parts(tokenizer, rows)
    with torch.no_grad():
        for part in parts:
            out = scores_of(model, part)
            part["scores"] = [[float(f"{x:.7g}") for x in s[0].tolist()] for s in (out.start_logits, out.end_logits)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    losses = []
    for step in range(10):
        batch = [parts[(2 * step + k) % len(parts)] for k in range(2)]
        loss = sum(scores_of(model, part, start_positions=torch.tensor([part["answer"][0]]),
                             end_positions=torch.tensor([part["answer"][1]])).loss for part in batch) / 2
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    for part in parts:
        del part["types"]
    answers = {kind: find_answers(rows, parts, kind == "some") for kind in ("all", "some")}
    write_json(ROOT / f"{name}.json", dict(max_seq_length=LENGTH, doc_stride=STRIDE, parts=parts, losses=losses,
                                           answers=answers))
    print(name, len(parts), "parts, losses", losses[0], "->", losses[-1])


def main():
    torch.set_num_threads(1)
    shutil.rmtree(ROOT, ignore_errors=True)
    ROOT.mkdir(parents=True)
    rows = make_squad()
    for name in MODELS:
        make(name, rows)
    for file in ROOT.glob("*/model.safetensors"):
        file.chmod(0o644)


if __name__ == "__main__":
    main()
