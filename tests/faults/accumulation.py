#!/usr/bin/env python3
# fast
"""The rows of an optimizer step, cut into micro-batches in several ways, give the same step within a stated bound.

    tests/faults/accumulation.py --hone build/hone

12 steps of 12 rows as 12 x 1, 6 x 2, 4 x 3, 1 x 12 and (by a device memory that allows no more) smaller
micro-batches of hone's own choice. The sums of float32 that make loss and gradients have another order, and
nothing else differs: masks of dropout depend on row and token, the loss is divided by the labels of the whole
step. docs/design/accumulation.md states the bounds that are demanded here.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

from placement_bits import MODELS, SOURCE, command, prepare

STEPS = 12
# Relative differences: of the first loss, of the first gradient norm, of any loss of the run.
FIRST_LOSS, FIRST_NORM, LOSSES = 5e-7, 1e-6, 5e-6


def losses(hone, folder, model, rows, times, *more):
    row = {"model": model, "accumulation": times, "precision": "", "adapter": "", "optim": "adamw_torch", "max_grad_norm": 1.0, "recompute": "",
           "activation": "none", "gradient": "none", "optimizer": "none", "param": "none", "backend": "cpu", "threads": 2, "threshold": 0}
    argv = command(hone, row, "out")
    for flag, value in ("--per_device_train_batch_size", rows), ("--max_steps", STEPS), ("--learning_rate", 0.001), ("--save_steps", STEPS):
        argv[argv.index(flag) + 1] = str(value)
    done = subprocess.run([*argv, *more], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"status {done.returncode}\n{done.stderr}")
    with open(os.path.join(folder, "out", "trainer_state.json")) as f:
        history = [e for e in json.load(f)["log_history"] if "loss" in e]
    shutil.rmtree(os.path.join(folder, "out"))
    return [(e["loss"], e["grad_norm"]) for e in history], done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    options = parser.parse_args()
    hone = os.path.abspath(options.hone)
    folder = tempfile.mkdtemp(prefix="hone_accumulation_")
    most, wrong = [0.0, 0.0, 0.0], 0
    try:
        prepare(folder)
        for model in MODELS:
            whole, _ = losses(hone, folder, model, 12, 1)
            for rows, times, *more in (6, 2), (4, 3), (1, 12), (12, 1, "--device_memory", "194MiB"):
                cut, log = losses(hone, folder, model, rows, times, *more)
                if len(cut) != STEPS or len(whole) != STEPS:
                    print(f"{model} {rows} x {times}: {len(cut)} losses")
                    return 1
                off = [abs(cut[0][0] - whole[0][0]) / whole[0][0], abs(cut[0][1] - whole[0][1]) / whole[0][1],
                       max(abs(a[0] - b[0]) / b[0] for a, b in zip(cut, whole))]
                most = [max(a, b) for a, b in zip(most, off)]
                if any(a > b for a, b in zip(off, (FIRST_LOSS, FIRST_NORM, LOSSES))):
                    wrong += 1
                    print(f"{model} {rows} x {times} {' '.join(more)}: first loss off by {off[0]:.1e}, first norm {off[1]:.1e}, losses {off[2]:.1e}")
        print(f"at most off by {most[0]:.1e} (first loss), {most[1]:.1e} (first norm), {most[2]:.1e} (losses of {STEPS} steps)")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
