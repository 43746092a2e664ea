"""Losses and evaluation of a run against tools/golden_image_folder.py."""
import json
import sys

golden = json.load(open(sys.argv[1] + "/golden.json"))
log = json.load(open(sys.argv[2] + "/trainer_state.json"))["log_history"]
losses = [e["loss"] for e in log if "loss" in e]
assert len(losses) == len(golden["losses"]), losses
for mine, theirs in zip(losses, golden["losses"]):
    assert abs(mine - theirs) <= 1e-4, (losses, golden["losses"])
last = [e for e in log if "eval_loss" in e][-1]
assert abs(last["eval_loss"] - golden["eval_loss"]) <= 1e-4, last
assert abs(last["eval_accuracy"] - golden["eval_accuracy"]) < 1e-9, last
print("same as Transformers")
