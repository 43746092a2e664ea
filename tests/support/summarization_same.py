import json
import sys

from losses import compare_losses

golden = json.load(open(sys.argv[1] + "/golden.json"))
folder, kind, prefix = sys.argv[2:5]
compare_losses(folder, golden["losses"], lambda loss: 1e-4 * max(1, loss))
mine, theirs = json.load(open(folder + "/all_results.json")), golden["eval"]
assert abs(mine[prefix + "_loss"] - theirs["loss"]) <= 1e-4 * theirs["loss"], (mine, theirs["loss"])
for key, value in theirs[kind].items():
    if key != "texts":
        assert abs(mine[f"{prefix}_{key}"] - value) < 1e-4, (key, mine, theirs[kind])
if prefix == "predict":
    texts = open(folder + "/generated_predictions.txt", encoding="utf-8").read().split("\n")
    assert texts == theirs[kind]["texts"], (texts, theirs[kind]["texts"])
print("same as Transformers")
