"""swag_same.py GOLDEN MODEL TRAINED EVALUATED: compares ten losses of a run, and accuracy, loss and choices of the untrained
model, with tests/goldens/multiple_choice/swag.json."""
import json
import sys

golden = json.load(open(sys.argv[1]))[sys.argv[2]]
log = json.load(open(sys.argv[3] + "/trainer_state.json"))["log_history"]
losses = [entry["loss"] for entry in log if "loss" in entry]
assert len(losses) == len(golden["losses"]), losses
for got, want in zip(losses, golden["losses"]):
    assert abs(got - want) <= 1e-4 * want, (losses, golden["losses"])
results = json.load(open(sys.argv[4] + "/eval_results.json"))
assert abs(results["eval_loss"] - golden["eval_loss"]) <= 1e-4 * golden["eval_loss"], results
assert abs(results["eval_accuracy"] - golden["eval_accuracy"]) < 1e-9, results
lines = open(sys.argv[4] + "/predict_results_multiple_choice.txt").read().split("\n")[1:-1]
assert [int(line.split("\t")[1]) for line in lines] == golden["choices"], lines
print("same as run_swag")
