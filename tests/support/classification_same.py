import json, sys
golden = json.load(open(sys.argv[1] + "/golden.json"))
log = json.load(open(sys.argv[2] + "/trainer_state.json"))["log_history"]
losses = [e["loss"] for e in log if "loss" in e]
assert len(losses) == len(golden["losses"]), losses
for mine, theirs in zip(losses, golden["losses"]):
    assert abs(mine - theirs) <= 1e-4 * max(1, theirs), (losses, golden["losses"])
last = [e for e in log if "eval_loss" in e][-1]
assert abs(last["eval_loss"] - golden["after"]["loss"]) <= 1e-4 * max(1, golden["after"]["loss"]), last
for name in ("accuracy", "precision", "recall", "f1"):
    assert last.get("eval_" + name) == golden["after"].get(name), (name, last)
print("same as PyTorch")
