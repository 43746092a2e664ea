import json, sys
golden = json.load(open(sys.argv[1] + "/golden.json"))
folder, kind = sys.argv[2:4]
losses = [e["loss"] for e in json.load(open(folder + "/trainer_state.json"))["log_history"] if "loss" in e]
assert len(losses) == len(golden["losses"]), losses
for mine, theirs in zip(losses, golden["losses"]):
    assert abs(mine - theirs) <= 1e-4 * max(1, theirs), (losses, golden["losses"])
mine, theirs = json.load(open(folder + "/predict_results.json")), golden["eval"]
assert abs(mine["predict_loss"] - theirs["loss"]) <= 1e-4 * theirs["loss"], (mine, theirs["loss"])
for key in ("bleu", "gen_len"):
    assert abs(mine["predict_" + key] - theirs[kind][key]) < 1e-4, (key, mine, theirs[kind])
texts = open(folder + "/generated_predictions.txt", encoding="utf-8").read().split("\n")
assert texts == theirs[kind]["texts"], (texts, theirs[kind]["texts"])
print("same as Transformers")
