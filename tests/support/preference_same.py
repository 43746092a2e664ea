"""preference_same.py GOLDENS TASK [FLAG ...]: trains each case of TRL's goldens (tools/golden_preference.py) with hone, and
compares ten entries of the log and the evaluation after them."""
import json
import subprocess
import sys

goldens, task, flags = sys.argv[1], sys.argv[2], sys.argv[3:]
model = goldens + "/reward" if task == "reward" else goldens + "/../sft/model"
cases = json.load(open(goldens + "/golden.json"))[task]


def words(value):
    return [str(v) for v in value] if isinstance(value, list) else [str(value)]


def compare(name, got, want):
    for key, value in want.items():
        bound = 1e-3 if key == "grad_norm" else 1e-4
        assert key in got, (name, key, got)
        assert abs(got[key] - value) <= bound * max(1, abs(value)), (name, key, got[key], value)


for name, case in cases.items():
    rows = f"{goldens}/{case['rows']}.jsonl"
    command = ["hone", "train", "--task", task, "--model_name_or_path", model, "--train_file", rows, "--validation_file",
               rows, "--output_dir", f"out_{task}_{name}", "--do_train", "--do_eval", "--no_shuffle", "--max_steps", "10",
               "--per_device_train_batch_size", "2", "--per_device_eval_batch_size", "2", "--learning_rate", "0.001",
               "--lr_scheduler_type", "constant", "--max_grad_norm", "1", "--logging_steps", "1", "--save_strategy", "no"]
    for flag, value in case["flags"].items():
        command += ["--" + flag, *words(value)]
    done = subprocess.run(command + flags, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr[-2000:])
    log = json.load(open(f"out_{task}_{name}/trainer_state.json"))["log_history"]
    steps = [entry for entry in log if "loss" in entry]
    assert len(steps) == len(case["log"]) == 10, steps
    for got, want in zip(steps, case["log"]):
        compare(name, got, want)
    # TRL's evaluations are means over batches, of which kto's have different numbers of wanted answers.
    same = ("eval_loss", "eval_kl") if task == "kto" else case["eval"].keys() - {"eval_mean_token_accuracy"}
    compare(name, [entry for entry in log if "eval_loss" in entry][-1], {k: v for k, v in case["eval"].items() if k in same})
print(len(cases), "cases are the same as TRL's")
