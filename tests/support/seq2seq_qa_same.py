"""seq2seq_qa_same.py GOLDENS MODEL FOLDER BEAMS PREFIX: compares a run with tests/goldens/qa/seq2seq.json: its losses, the
loss of its evaluation, its texts if it predicted, and exact matches and F1 by SQuAD 2.0's rules."""
import collections
import json
import re
import string
import sys

from losses import compare_losses

goldens, name, folder, beams, prefix = sys.argv[1:6]
golden = json.load(open(goldens + "/seq2seq.json"))[name]
rows = [json.loads(line) for line in open(goldens + "/flat.jsonl")]


def words(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def score(text, references):
    best = (0, 0)
    for reference in references or [""]:
        mine, theirs = words(text), words(reference)
        common = sum((collections.Counter(mine) & collections.Counter(theirs)).values())
        if not mine or not theirs:
            f1 = float(mine == theirs)
        else:
            f1 = 2 * common / (len(mine) + len(theirs)) if common else 0
        best = (max(best[0], float(mine == theirs)), max(best[1], f1))
    return best


results = json.load(open(folder + "/all_results.json"))
compare_losses(folder, golden["losses"], lambda loss: 1e-4 * max(1, loss))
assert abs(results[prefix + "_loss"] - golden["eval_loss"]) <= 1e-4 * golden["eval_loss"], results
answers = golden[f"beams_{beams}"]
if prefix == "predict":
    texts = open(folder + "/generated_predictions.txt", encoding="utf-8").read().split("\n")
    assert texts == [answers[row["id"]].strip() for row in rows], (texts, answers)
all_scores = [score(answers[row["id"]], row["answers"]["text"]) for row in rows]
for key, at in (("exact", 0), ("f1", 1)):
    want = 100 * sum(s[at] for s in all_scores) / len(all_scores)
    assert abs(results[f"{prefix}_{key}"] - want) < 1e-6, (results, want)
assert results[prefix + "_total"] == len(rows) and results[prefix + "_NoAns_total"] == 2, results
print("same as run_seq2seq_qa")
