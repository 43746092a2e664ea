#!/usr/bin/env python3
"""Loss scales of PyTorch's GradScaler and DeepSpeed's DynamicLossScaler: tests/goldens/learn_train/loss_scale.json.

Needs torch and deepspeed 0.14 (later ones double the scale one step later after an overflow; hone does as PyTorch and
0.14 do). One case: the options in hone's words, which steps overflow (1) or not (0), the
scale of each step, and the step at which DeepSpeed ends the run (-1: none).
"""
import json
import os

import torch
from deepspeed.runtime.fp16 import loss_scaler

loss_scaler.dist.get_rank = lambda: 0

# Overflows alone, in rows, with and without room to grow between them.
STEPS = {
    "none": "0" * 14,
    "first": "111" + "0" * 12,
    "mixed": "0100000100110000001000000000011",
    "rows": "11111000001111100000" * 2,
    "always": "1" * 12,
}


def of_torch(window, power, steps):
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**power, growth_interval=window)
    scaler._lazy_init_scale_growth_tracker(torch.device("cpu"))
    scales = []
    for overflow in steps:
        scales.append(scaler.get_scale())
        weight = torch.nn.Parameter(torch.zeros(2))
        weight.grad = torch.tensor([1.0, float("inf") if overflow == "1" else 1.0])
        scaler.step(torch.optim.SGD([weight], lr=1.0))
        assert bool((weight == 0).all()) == (overflow == "1")
        scaler.update()
    return scales, -1


def of_deepspeed(options, steps):
    scaler = loss_scaler.DynamicLossScaler(init_scale=2.0 ** options["initial_scale_power"], scale_window=options["loss_scale_window"],
                                           min_scale=options["min_loss_scale"], delayed_shift=options["hysteresis"],
                                           consecutive_hysteresis=options["consecutive_hysteresis"], raise_error_at_min_scale=True,
                                           dtype=torch.half)
    scales = []
    for step, overflow in enumerate(steps):
        scales.append(scaler.cur_scale)
        try:
            scaler.update_scale(overflow == "1")
        except Exception as e:
            assert "already at minimum" in str(e)
            return scales, step
    return scales, -1


cases = []
for name, steps in STEPS.items():
    for window in (3, 5):
        scales, ends = of_torch(window, 16, steps)
        cases.append({"of": "GradScaler", "options": {"loss_scale_window": window, "initial_scale_power": 16},
                      "steps": steps, "scales": scales, "ends": ends})
    for window, hysteresis, consecutive, least, power in ((3, 1, False, 1, 16), (3, 2, False, 1, 16), (4, 3, True, 1, 16),
                                                          (3, 2, True, 4, 5), (2, 1, False, 3, 4)):
        options = {"loss_scale_window": window, "hysteresis": hysteresis, "consecutive_hysteresis": consecutive,
                   "min_loss_scale": least, "initial_scale_power": power}
        scales, ends = of_deepspeed(options, steps)
        cases.append({"of": "DynamicLossScaler", "options": options, "steps": steps, "scales": scales, "ends": ends})

source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
with open(os.path.join(source, "tests", "goldens", "learn_train", "loss_scale.json"), "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
