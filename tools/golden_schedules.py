#!/usr/bin/env python3
"""Learning rates of Transformers' get_scheduler: tests/goldens/learn_train/schedules.json.

Needs torch and transformers. One case: name, arguments, the rate of each step from the first.
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

source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
folder = os.path.join(source, "tests", "goldens", "learn_train")
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "schedules.json"), "w") as f:
    f.write('{"learning_rate": %r, "cases": [\n' % RATE)
    f.write(",\n".join(json.dumps(c) for c in cases))
    f.write("\n]}\n")
