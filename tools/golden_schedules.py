#!/usr/bin/env python3
"""Learning rates of Transformers' get_scheduler: tests/goldens/learn_train/schedules.json.

Needs torch and transformers. One case: name, arguments, the rate of each step from the first. "plateaus": the
rate of reduce_lr_on_plateau after each evaluation.
"""
import json
import os

import torch
from transformers import get_scheduler

CASES = [
    ("linear", 3, 12, {}),
    ("linear", 0, 7, {}),
    ("constant", 0, 5, {}),
    ("constant_with_warmup", 4, 9, {}),
    ("cosine", 3, 12, {}),
    ("cosine", 2, 12, {"num_cycles": 1.5}),
    ("cosine_with_restarts", 3, 15, {"num_cycles": 3}),
    ("polynomial", 3, 12, {}),
    ("polynomial", 2, 12, {"lr_end": 1e-4, "power": 2.0}),
    ("inverse_sqrt", 4, 12, {}),
    ("inverse_sqrt", 0, 12, {"timescale": 8}),
    ("cosine_with_min_lr", 3, 12, {"min_lr": 1e-4}),
    ("cosine_with_min_lr", 3, 12, {"min_lr_rate": 0.2}),
    ("cosine_warmup_with_min_lr", 3, 12, {"min_lr": 1e-4}),
    ("cosine_warmup_with_min_lr", 0, 8, {"min_lr_rate": 0.1, "num_cycles": 1.0}),
    ("cosine_warmup_with_min_lr", 4, 12, {"min_lr_rate": 0.2, "warmup_lr_rate": 0.05}),
    ("warmup_stable_decay", 3, 15, {"num_decay_steps": 5}),
    ("warmup_stable_decay", 3, 15, {"num_decay_steps": 4, "num_stable_steps": 6, "decay_type": "1-sqrt", "min_lr_ratio": 0.1}),
    ("warmup_stable_decay", 4, 15, {"num_decay_steps": 5, "warmup_type": "cosine", "decay_type": "linear", "min_lr_ratio": 0.05}),
]
RATE = 2e-3

cases = []
for name, warmup, total, kwargs in CASES:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=RATE)
    schedule = get_scheduler(name, optimizer, num_warmup_steps=warmup, num_training_steps=total,
                             scheduler_specific_kwargs=dict(kwargs))
    rates = []
    for _ in range(total):
        rates.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    cases.append({"type": name, "warmup": warmup, "total": total, "kwargs": kwargs, "rates": rates})

PLATEAUS = [
    {"patience": 1},
    {"patience": 0, "factor": 0.5, "cooldown": 2, "min_lr": 4e-4},
    {"mode": "max", "patience": 1, "threshold": 0.05, "threshold_mode": "abs", "factor": 0.3},
]
METRICS = [1.0, 0.9, 0.9, 0.95, 0.91, 0.8, 0.8, 0.81, 0.82, 0.83, 0.79, 0.79, 0.79, 0.9, 0.96, 0.99]
plateaus = []
for kwargs in PLATEAUS:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=RATE)
    schedule = get_scheduler("reduce_lr_on_plateau", optimizer, scheduler_specific_kwargs=dict(kwargs))
    rates = []
    for metric in METRICS:
        schedule.step(metric)
        rates.append(optimizer.param_groups[0]["lr"])
    plateaus.append({"kwargs": kwargs, "metrics": METRICS, "rates": rates})

source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
folder = os.path.join(source, "tests", "goldens", "learn_train")
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "schedules.json"), "w") as f:
    f.write('{"learning_rate": %r, "cases": [\n' % RATE)
    f.write(",\n".join(json.dumps(c) for c in cases))
    f.write('\n], "plateaus": [\n')
    f.write(",\n".join(json.dumps(p) for p in plateaus))
    f.write("\n]}\n")
