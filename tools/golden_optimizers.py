#!/usr/bin/env python3
"""Ten steps of each optimizer: tests/goldens/learn_train/optimizers.json.

Needs torch, transformers, timm, torch-optimi and schedulefree. Cases with "average" have what the run evaluates and saves:
schedulefree's weights after eval(), or those of torch.optim.swa_utils.AveragedModel. torch.optim's Adam, AdamW, SGD, Adagrad and RMSprop and Transformers'
Adafactor and torch-optimi's StableAdamW and timm's LARS and LAMB (which skips weights without decay) are run as they are; Lion, LAMB, AdEMAMix and Muon are written out from their
papers in double precision (torch.optim.Muon computes in bfloat16).
The tensor "v" is one that the Trainer does not decay. Where a case is "vanishing", v[1] has gradients
that are next to nothing, as rounding leaves them of a parameter that the loss does not depend on (GPT-2's
bias of keys): docs/design/adafactor-and-vanishing-gradients.md.
"""
import json
import os

import math

import torch
from optimi import StableAdamW
from schedulefree import AdamWScheduleFree
from timm.optim import Lamb, Lars
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from transformers.optimization import Adafactor

SHAPES = {"a": [4, 5], "b": [2, 2, 3], "v": [3]}
STEPS = 10
RATES = [0.02 * (STEPS - i) / STEPS for i in range(STEPS)]

random = torch.Generator().manual_seed(5)
draw = lambda shape: (torch.randn(shape, generator=random) * 1000).round() / 1000
start = {k: draw(s) for k, s in SHAPES.items()}
gradients = [{k: draw(s) for k, s in SHAPES.items()} for _ in range(STEPS)]


def orthogonal(x, steps=5, a=3.4445, b=-4.7750, c=2.0315):
    """Newton and Schulz's iteration of torch.optim.Muon, in double precision."""
    x = x.double().T if x.shape[0] > x.shape[1] else x.double()
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x


class WrittenMuon(torch.optim.AdamW):
    """Muon for matrices, as torch.optim.Muon, and AdamW for all others."""

    def __init__(self, groups, factor, momentum=0.95, nesterov=True, **adam):
        super().__init__(groups, lr=0.0, **adam)
        self.factor, self.momentum, self.nesterov = factor, momentum, nesterov

    @torch.no_grad()
    def step(self):
        matrices = []
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    continue
                w, g, state = p.double(), p.grad.double(), self.__dict__.setdefault("buffers", {})
                buffer = state.setdefault(p, torch.zeros_like(w))
                buffer.lerp_(g, 1 - self.momentum)
                u = orthogonal(g.lerp(buffer, self.momentum) if self.nesterov else buffer)
                u = u.T if p.shape[0] > p.shape[1] else u
                matrices.append((p, w * (1 - group["lr"] * group["weight_decay"]) - group["lr"] * self.factor(*p.shape) * u))
                p.grad = None
        super().step()
        for p, w in matrices:
            p.copy_(w)


class Written(torch.optim.Optimizer):
    """Lion (arXiv 2302.06675), LAMB (arXiv 1904.00962) and AdEMAMix (arXiv 2409.03137)."""

    def __init__(self, groups, rule, beta1, beta2, eps=0.0, beta3=0.0, alpha=0.0, t_alpha=None, t_beta3=None):
        super().__init__(groups, {"lr": 0.0, "weight_decay": 0.0})
        self.beta3, self.alpha, self.t_alpha, self.t_beta3 = beta3, alpha, t_alpha, t_beta3
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
                elif self.rule == "ademamix":
                    alpha, beta3 = self.alpha, self.beta3
                    if self.t_alpha:
                        alpha = min(self.t * alpha / self.t_alpha, alpha)
                    if self.t_beta3:
                        x, y, s = math.log(self.beta1), math.log(beta3), self.t / self.t_beta3
                        beta3 = min(math.exp(x * y / ((1 - s) * y + s * x)), beta3)
                    slow, v = (state.setdefault(k, torch.zeros_like(w)) for k in ("slow", "v"))
                    state["m"] = m = self.beta1 * m + (1 - self.beta1) * g
                    state["slow"] = slow = beta3 * slow + (1 - beta3) * g
                    state["v"] = v = self.beta2 * v + (1 - self.beta2) * g * g
                    below = v.sqrt() / math.sqrt(1 - self.beta2**self.t) + self.eps
                    u = (m / (1 - self.beta1**self.t) + alpha * slow) / below
                    w = w - group["lr"] * (u + group["weight_decay"] * w)
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
    ({"optim": "ademamix", **BETAS, **DECAY}, False,
     lambda g: Written(g, "ademamix", 0.8, 0.95, 1e-6, beta3=0.9999, alpha=5.0)),
    ({"optim": "ademamix", "optim_args": "beta3=0.99,alpha=4,t_alpha=6,t_beta3=7", **BETAS}, False,
     lambda g: Written(g, "ademamix", 0.8, 0.95, 1e-6, beta3=0.99, alpha=4.0, t_alpha=6, t_beta3=7)),
    ({"optim": "muon", **BETAS, **DECAY}, False,
     lambda g: WrittenMuon(g, lambda r, c: 0.2 * max(r, c) ** 0.5, **torch_adam)),
    ({"optim": "muon", "optim_args": "momentum=0.8,nesterov=false,adjust_lr=original", **BETAS, **DECAY}, False,
     lambda g: WrittenMuon(g, lambda r, c: max(1, r / c) ** 0.5, momentum=0.8, nesterov=False, **torch_adam)),
    ({"optim": "stable_adamw", **BETAS, **DECAY}, False,
     lambda g: StableAdamW(g, lr=0.0, betas=(0.8, 0.95), eps=1e-6, triton=False)),
    ({"optim": "schedule_free_adamw", **BETAS, **DECAY, "warmup_steps": 4}, False,
     lambda g: AdamWScheduleFree(g, lr=1.0, warmup_steps=4, foreach=False, **torch_adam)),
    ({"optim": "schedule_free_adamw", "optim_args": "r=0.5,weight_lr_power=1", **BETAS, **DECAY}, False,
     lambda g: AdamWScheduleFree(g, lr=1.0, r=0.5, weight_lr_power=1.0, foreach=False, **torch_adam)),
    ({"optim": "adamw_torch", **BETAS, **DECAY, "ema_decay": 0.7}, False,
     lambda g: torch.optim.AdamW(g, lr=0.0, **torch_adam)),
    ({"optim": "lamb", "optim_args": "always_adapt=false", **BETAS, **DECAY}, False,
     lambda g: Lamb(g, lr=0.0, max_grad_norm=None, foreach=False, **torch_adam)),
    ({"optim": "lamb", "optim_args": "always_adapt=false,trust_clip=true", **BETAS, **DECAY}, False,
     lambda g: Lamb(g, lr=0.0, max_grad_norm=None, trust_clip=True, foreach=False, **torch_adam)),
    ({"optim": "lars", "optim_args": "trust_coefficient=0.5", **DECAY}, False,
     lambda g: Lars(g, lr=0.0, momentum=0.9, trust_coeff=0.5, foreach=False)),
    ({"optim": "lars", "optim_args": "trust_coefficient=0.02,nesterov=true,trust_clip=true", **DECAY}, False,
     lambda g: Lars(g, lr=0.0, momentum=0.9, nesterov=True, trust_coeff=0.02, trust_clip=True, foreach=False)),
    ({"optim": "lars", "optim_args": "momentum=0.8,dampening=0.25,trust_coefficient=0.5,always_adapt=true"}, False,
     lambda g: Lars(g, lr=0.0, momentum=0.8, dampening=0.25, trust_coeff=0.5, always_adapt=True, foreach=False)),
    ({"optim": "lars", "optim_args": "momentum=0"}, False, lambda g: Lars(g, lr=0.0, foreach=False)),
]


def rounded(parameters):
    return {k: [float(f"{x:.7g}") for x in p.detach().flatten().tolist()] for k, p in parameters.items()}


def averaged(optimizer, parameters, ema):
    """The weights that the run evaluates and saves; None: those that it trains."""
    if isinstance(optimizer, AdamWScheduleFree):
        optimizer.eval()
        made = rounded(parameters)
        optimizer.train()
        return made
    return rounded(dict(ema.module.items())) if ema else None


cases = []
for settings, decays_all, make, *vanishing in CASES:
    parameters = {k: torch.nn.Parameter(v.clone()) for k, v in start.items()}
    decay = settings.get("weight_decay", 0.0)
    optimizer = make([
        {"params": [p for k, p in parameters.items() if k != "v" or decays_all], "weight_decay": decay},
        {"params": [p for k, p in parameters.items() if k == "v" and not decays_all], "weight_decay": 0.0},
    ])
    after, averages = {}, {}
    model = torch.nn.ParameterDict(parameters)
    parameters = dict(model.items())
    ema = None
    if "ema_decay" in settings:
        ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(settings["ema_decay"]))
    if isinstance(optimizer, AdamWScheduleFree):
        optimizer.train()
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
        if ema:
            ema.update_parameters(model)
        if step in (0, STEPS - 1):
            after[str(step + 1)] = rounded(parameters)
            if average := averaged(optimizer, parameters, ema):
                averages[str(step + 1)] = average
    cases.append({"settings": {"max_grad_norm": 0, **settings}, "after": after})
    if averages:
        cases[-1]["average"] = averages
    if vanishing:
        cases[-1]["vanishing"] = vanishing[0]

flat = lambda tensors: {k: [round(x, 3) for x in v.flatten().tolist()] for k, v in tensors.items()}
golden = {"shapes": SHAPES, "rates": RATES, "start": flat(start), "gradients": [flat(g) for g in gradients],
          "cases": cases}
path = os.path.join(os.path.dirname(__file__), "..", "tests", "goldens", "learn_train", "optimizers.json")
with open(path, "w") as f:
    json.dump(golden, f)
    f.write("\n")
