"""Losses and evaluation of a run against tools/golden_image_folder.py."""
import json
import sys

from losses import compare_losses

golden = json.load(open(sys.argv[1] + "/golden.json"))
log = compare_losses(sys.argv[2], golden["losses"], lambda loss: 1e-4)
last = [e for e in log if "eval_loss" in e][-1]
assert abs(last["eval_loss"] - golden["eval_loss"]) <= 1e-4, last
assert abs(last["eval_accuracy"] - golden["eval_accuracy"]) < 1e-9, last
print("same as Transformers")
