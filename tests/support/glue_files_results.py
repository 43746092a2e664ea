"""glue_files_results.py FILE   the number of rows and the names of the metrics of an eval_results.json."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    results = json.load(f)
print(results["eval_samples"], *sorted(
    k[5:] for k in results if not k.startswith(("eval_runtime", "eval_samples", "eval_steps")) and k != "epoch"))
