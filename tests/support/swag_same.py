"""swag_same.py GOLDEN MODEL TRAINED EVALUATED: compares ten losses of a run, and accuracy, loss and choices of the untrained
model, with tests/goldens/multiple_choice/swag.json."""
import json
import sys

from losses import compare_losses

golden = json.load(open(sys.argv[1]))[sys.argv[2]]
compare_losses(sys.argv[3], golden["losses"], lambda loss: 1e-4 * loss)
results = json.load(open(sys.argv[4] + "/eval_results.json"))
assert abs(results["eval_loss"] - golden["eval_loss"]) <= 1e-4 * golden["eval_loss"], results
assert abs(results["eval_accuracy"] - golden["eval_accuracy"]) < 1e-9, results
lines = open(sys.argv[4] + "/predict_results_multiple_choice.txt").read().split("\n")[1:-1]
assert [int(line.split("\t")[1]) for line in lines] == golden["choices"], lines
print("same as run_swag")
