import json, sys
folder = sys.argv[1]
s = json.load(open(folder + "/trainer_state.json"))
losses = {e["step"]: e["eval_loss"] for e in reversed(s["log_history"]) if "eval_loss" in e}
best = min(losses, key=losses.get)
print("best", best == s["best_global_step"], losses[best] == s["best_metric"], s["best_model_checkpoint"] == folder + f"/checkpoint-{best}")
print("stopped", s["global_step"] == best + 6, s["global_step"] < s["max_steps"], s["stateful_callbacks"]["EarlyStoppingCallback"]["attributes"])
print("final", json.load(open(folder + "/eval_results.json"))["eval_loss"] == losses[best])
