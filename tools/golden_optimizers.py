#!/usr/bin/env python3
"""Ten steps of each optimizer: tests/goldens/learn_train/optimizers.json.

Needs torch and transformers. torch.optim's Adam, AdamW, SGD, Adagrad and RMSprop and Transformers'
Adafactor are run as they are; Lion and LAMB are written out from their papers in double precision.
The tensor "v" is one that the Trainer does not decay. Where a case is "vanishing", v[1] has gradients
that are next to nothing, as rounding leaves them of a parameter that the loss does not depend on (GPT-2's
bias of keys): docs/design/adafactor-and-vanishing-gradients.md.
"""
import json
import os

import torch
from transformers.optimization import Adafactor

SHAPES = {"a": [4, 5], "b": [2, 2, 3], "v": [3]}
STEPS = 10
RATES = [0.02 * (STEPS - i) / STEPS for i in range(STEPS)]

random = torch.Generator().manual_seed(5)
draw = lambda shape: (torch.randn(shape, generator=random) * 1000).round() / 1000
start = {k: draw(s) for k, s in SHAPES.items()}
gradients = [{k: draw(s) for k, s in SHAPES.items()} for _ in range(STEPS)]


class Written(torch.optim.Optimizer):
    """Lion (arXiv 2302.06675) and LAMB (arXiv 1904.00962)."""

    def __init__(self, groups, rule, beta1, beta2, eps=0.0):
        super().__init__(groups, {"lr": 0.0, "weight_decay": 0.0})
        self.rule, self.beta1, self.beta2, self.eps, self.t = rule, beta1, beta2, eps, 0

    @torch.no_grad()
    def step(self):
        self.t += 1
        for group in self.param_groups:
            for p in group["params"]:
                state, w, g = self.state[p], p.double(), p.grad.double()
                m = state.setdefault("m", torch.zeros_like(w))
                if self.rule == "lion":
                    c = self.beta1 * m + (1 - self.beta1) * g
                    w = w - group["lr"] * (c.sign() + group["weight_decay"] * w)
                    state["m"] = self.beta2 * m + (1 - self.beta2) * g
                else:
                    v = state.setdefault("v", torch.zeros_like(w))
                    state["m"] = m = self.beta1 * m + (1 - self.beta1) * g
                    state["v"] = v = self.beta2 * v + (1 - self.beta2) * g * g
                    r = (m / (1 - self.beta1**self.t)) / ((v / (1 - self.beta2**self.t)).sqrt() + self.eps)
                    u = r + group["weight_decay"] * w
                    trust = w.norm() / u.norm() if w.norm() > 0 and u.norm() > 0 else 1.0
                    w = w - group["lr"] * trust * u
                p.copy_(w)


BETAS = {"adam_beta1": 0.8, "adam_beta2": 0.95, "adam_epsilon": 1e-6}
torch_adam = {"betas": (0.8, 0.95), "eps": 1e-6}
DECAY = {"weight_decay": 0.1}
VANISHING = 1e-9
CASES = [  # settings of hone, decays all tensors, optimizer, what v[1] has of its gradient
    ({"optim": "adamw_torch", **BETAS, **DECAY}, False, lambda g: torch.optim.AdamW(g, lr=0.0, **torch_adam)),
    ({"optim": "adam", **BETAS, **DECAY}, True, lambda g: torch.optim.Adam(g, lr=0.0, **torch_adam)),
    ({"optim": "adam", **BETAS, **DECAY, "max_grad_norm": 0.5}, True,
     lambda g: torch.optim.Adam(g, lr=0.0, **torch_adam)),
    ({"optim": "sgd", **DECAY}, False, lambda g: torch.optim.SGD(g, lr=0.0)),
    ({"optim": "sgd", "optim_args": "momentum=0.9,dampening=0.25", **DECAY}, False,
     lambda g: torch.optim.SGD(g, lr=0.0, momentum=0.9, dampening=0.25)),
    ({"optim": "sgd", "optim_args": "momentum=0.9, nesterov=true"}, False,
     lambda g: torch.optim.SGD(g, lr=0.0, momentum=0.9, nesterov=True)),
    ({"optim": "adagrad", "optim_args": "lr_decay=0.1", **DECAY}, False,
     lambda g: torch.optim.Adagrad(g, lr=0.0, lr_decay=0.1)),
    ({"optim": "rmsprop", **DECAY}, False, lambda g: torch.optim.RMSprop(g, lr=0.0)),
    ({"optim": "rmsprop", "optim_args": "momentum=0.5,alpha=0.9,eps=1e-6,centered=True", **DECAY}, False,
     lambda g: torch.optim.RMSprop(g, lr=0.0, momentum=0.5, alpha=0.9, eps=1e-6, centered=True)),
    ({"optim": "adafactor", **DECAY}, False,
     lambda g: Adafactor(g, lr=0.0, scale_parameter=False, relative_step=False)),
    ({"optim": "adafactor"}, False, lambda g: Adafactor(g, lr=0.0, scale_parameter=False, relative_step=False),
     VANISHING),
    ({"optim": "lion_32bit", **BETAS, **DECAY}, False, lambda g: Written(g, "lion", 0.8, 0.95)),
    ({"optim": "lamb", **BETAS, **DECAY}, False, lambda g: Written(g, "lamb", 0.8, 0.95, 1e-6)),
]

cases = []
for settings, decays_all, make, *vanishing in CASES:
    parameters = {k: torch.nn.Parameter(v.clone()) for k, v in start.items()}
    decay = settings.get("weight_decay", 0.0)
    optimizer = make([
        {"params": [p for k, p in parameters.items() if k != "v" or decays_all], "weight_decay": decay},
        {"params": [p for k, p in parameters.items() if k == "v" and not decays_all], "weight_decay": 0.0},
    ])
    after = {}
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = RATES[step]
        for k, p in parameters.items():
            p.grad = gradients[step][k].clone()
        for factor in vanishing:
            parameters["v"].grad[1] *= factor
        if "max_grad_norm" in settings:
            torch.nn.utils.clip_grad_norm_(parameters.values(), settings["max_grad_norm"])
        optimizer.step()
        if step in (0, STEPS - 1):
            after[str(step + 1)] = {k: [float(f"{x:.7g}") for x in p.detach().flatten().tolist()]
                                    for k, p in parameters.items()}
    cases.append({"settings": {"max_grad_norm": 0, **settings}, "after": after})
    if vanishing:
        cases[-1]["vanishing"] = vanishing[0]

flat = lambda tensors: {k: [round(x, 3) for x in v.flatten().tolist()] for k, v in tensors.items()}
golden = {"shapes": SHAPES, "rates": RATES, "start": flat(start), "gradients": [flat(g) for g in gradients],
          "cases": cases}
path = os.path.join(os.path.dirname(__file__), "..", "tests", "goldens", "learn_train", "optimizers.json")
with open(path, "w") as f:
    json.dump(golden, f)
    f.write("\n")
