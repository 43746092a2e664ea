import json
import sys

from losses import compare_losses

golden = json.load(open(sys.argv[1] + "/golden.json"))
folder, kind = sys.argv[2:4]
compare_losses(folder, golden["losses"], lambda loss: 1e-4 * max(1, loss))
mine, theirs = json.load(open(folder + "/predict_results.json")), golden["eval"]
assert abs(mine["predict_loss"] - theirs["loss"]) <= 1e-4 * theirs["loss"], (mine, theirs["loss"])
for key in ("bleu", "gen_len"):
    assert abs(mine["predict_" + key] - theirs[kind][key]) < 1e-4, (key, mine, theirs[kind])
texts = open(folder + "/generated_predictions.txt", encoding="utf-8").read().split("\n")
assert texts == theirs[kind]["texts"], (texts, theirs[kind]["texts"])
print("same as Transformers")
