#!/usr/bin/env python3
"""Learning rates of DeepSpeed's schedules: tests/goldens/learn_train/deepspeed_schedules.json.

Needs torch and deepspeed. One case: name and arguments of hone, the rate of each step from the first.
"""
import json
import os

import torch
from deepspeed.runtime import lr_schedules

RATE = 2e-3
CASES = [
    ("warmup_lr", 4, 12, {}),
    ("warmup_lr", 0, 5, {}),
    ("warmup_lr", 1, 5, {"warmup_type": "linear"}),
    ("warmup_lr", 5, 12, {"min_lr": 1e-4, "warmup_type": "linear"}),
    ("warmup_lr", 5, 12, {"min_lr": 1e-4, "warmup_type": "log"}),
    ("warmup_decay_lr", 4, 14, {}),
    ("warmup_decay_lr", 3, 14, {"min_lr": 3e-4, "warmup_type": "linear"}),
    ("warmup_decay_lr", 3, 14, {"total_num_steps": 9}),
    ("warmup_cosine_lr", 4, 14, {}),
    ("warmup_cosine_lr", 3, 14, {"warmup_min_ratio": 0.1, "cos_min_ratio": 0.2, "warmup_type": "linear"}),
    ("warmup_cosine_lr", 3, 14, {"total_num_steps": 9}),
]


def of_deepspeed(name, warmup, total, kwargs):
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=RATE)
    more = {"warmup_min_lr" if k == "min_lr" else k: v for k, v in kwargs.items()}
    more["warmup_num_steps"] = max(1, warmup)
    if name != "warmup_lr":
        more.setdefault("total_num_steps", total)
    if name != "warmup_cosine_lr":
        more["warmup_max_lr"] = RATE
    kind = {"warmup_lr": "WarmupLR", "warmup_decay_lr": "WarmupDecayLR", "warmup_cosine_lr": "WarmupCosineLR"}[name]
    return optimizer, getattr(lr_schedules, kind)(optimizer, **more)


cases = []
for name, warmup, total, kwargs in CASES:
    optimizer, schedule = of_deepspeed(name, warmup, total, kwargs)
    rates = []
    for _ in range(total):
        rates.append(optimizer.param_groups[0]["lr"])
        schedule.step()
    cases.append({"type": name, "warmup": warmup, "total": total, "kwargs": kwargs, "rates": rates})

source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
folder = os.path.join(source, "tests", "goldens", "learn_train")
with open(os.path.join(folder, "deepspeed_schedules.json"), "w") as f:
    f.write('{"learning_rate": %r, "cases": [\n' % RATE)
    f.write(",\n".join(json.dumps(c) for c in cases))
    f.write("\n]}\n")
