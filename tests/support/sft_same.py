import json, sys
golden = json.load(open(sys.argv[1] + "/golden.json"))["train"]
log = json.load(open(sys.argv[2] + "/trainer_state.json"))["log_history"]
steps = [e for e in log if "loss" in e]
assert len(steps) == len(golden["losses"]), steps
for step, loss, norm in zip(steps, golden["losses"], golden["grad_norms"]):
    assert abs(step["loss"] - loss) <= 1e-4 * max(1, loss), (step, loss)
    assert abs(step["grad_norm"] - norm) <= 1e-3 * max(1, norm), (step, norm)
last = [e for e in log if "eval_loss" in e][-1]
assert abs(last["eval_loss"] - golden["eval_loss"]) <= 1e-4 * max(1, golden["eval_loss"]), (last, golden["eval_loss"])
print("same as TRL")
