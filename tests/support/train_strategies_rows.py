import json, sys
state = json.load(open(sys.argv[1] + "/trainer_state.json"))
for e in state["log_history"]:
    print(e["step"], e["epoch"], "eval" if "eval_loss" in e else "log" if "loss" in e else "end")
