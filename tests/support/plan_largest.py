# Whether the largest micro-batch that hone plan names fits, and whether one row more does.
import json, subprocess, sys
def plan(rows):
    return json.loads(subprocess.run(
        ["hone", "plan", "--task", "clm", "--model_name_or_path", sys.argv[1], "--json", "--device_memory", sys.argv[2],
         "--per_device_train_batch_size", str(rows)], capture_output=True, text=True).stdout)
most = plan(1)["largest_micro_batch_rows"]
print(*(most > 1 and plan(rows)["micro_batch_rows"] == rows for rows in (most, most + 1)))
