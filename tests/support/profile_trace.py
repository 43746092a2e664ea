"""profile_trace.py FILE   threads of a Chrome trace; whether the ops of a step are in it; whether all durations are >= 0."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    spans = [e for e in json.load(f)["traceEvents"] if e["ph"] == "X"]
print(sorted({e["tid"] for e in spans}), {"linear", "attention_grad", "adamw"} <= {e["name"] for e in spans},
      all(e["dur"] >= 0 for e in spans))
