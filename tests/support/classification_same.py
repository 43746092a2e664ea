import json
import sys

from losses import compare_losses

golden = json.load(open(sys.argv[1] + "/golden.json"))
log = compare_losses(sys.argv[2], golden["losses"], lambda loss: 1e-4 * max(1, loss))
last = [e for e in log if "eval_loss" in e][-1]
assert abs(last["eval_loss"] - golden["after"]["loss"]) <= 1e-4 * max(1, golden["after"]["loss"]), last
for name in ("accuracy", "precision", "recall", "f1"):
    assert last.get("eval_" + name) == golden["after"].get(name), (name, last)
print("same as PyTorch")
