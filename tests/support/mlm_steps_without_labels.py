# Whether some steps of the first run have no loss, and the second run, which logs once, has the
# train_loss that Trainer counts: a step that is not finite counts as the mean so far.
import json, sys
history = json.load(open(sys.argv[1] + "/trainer_state.json"))["log_history"]
losses = [entry["loss"] for entry in history if "loss" in entry]
total = 0
for step, loss in enumerate(losses):
    total += loss or total / (1 + step)
train_loss = json.load(open(sys.argv[2] + "/train_results.json"))["train_loss"]
print(0 < losses.count(0) < len(losses), abs(total / len(losses) - train_loss) < 1e-12)
