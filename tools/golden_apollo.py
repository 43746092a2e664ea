#!/usr/bin/env python3
"""Ten steps of APOLLO: tests/goldens/learn_train/optimizers_apollo.json.

Needs torch and apollo-torch, whose optimizer is run as it is; its projections are made of the normal numbers
that hone has for a seed, a step and a name (src/engine/ops/random_normal.cc), written out here.
"""
import json
import math
import os

import apollo_torch.random_projector as projector
import torch
from apollo_torch import APOLLOAdamW

SEED, STEPS, GAP = 42, 10, 4
SHAPES = {"tall": [9, 5], "wide": [5, 9], "square": [6, 6], "v": [3]}
RATES = [0.02 * (STEPS - i) / STEPS for i in range(STEPS)]
MASK = 0xFFFFFFFF


def philox(c, k0, k1):
    for _ in range(10):
        a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(b >> 32) ^ c[1] ^ k0, b & MASK, (a >> 32) ^ c[3] ^ k1, a & MASK]
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c


def key_of(name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return philox([0, 0, h & MASK, h >> 32], SEED, 0)[:2]


def normal(shape, name, round_):
    key, x = key_of(name), []
    for block in range((math.prod(shape) + 3) // 4):
        w = philox([block, 0, round_, 0], *key)
        for a, b in ((w[0], w[1]), (w[2], w[3])):
            length, angle = math.sqrt(-2 * math.log((a + 0.5) / 2**32)), 2 * math.pi * b / 2**32
            x += [length * math.cos(angle), length * math.sin(angle)]
    return torch.tensor(x[:math.prod(shape)], dtype=torch.float64).reshape(shape).float()


random = torch.Generator().manual_seed(7)
draw = lambda shape: (torch.randn(shape, generator=random) * 1000).round() / 1000
start = {k: draw(s) for k, s in SHAPES.items()}
# The ninth step's are large, so that the limit of growth counts.
gradients = [{k: draw(s) * (50 if i == 8 else 1) for k, s in SHAPES.items()} for i in range(STEPS)]

CASES = [
    ("rank=3,update_proj_gap=4", {"rank": 3, "scale_type": "channel", "scale": 1.0, "proj_type": "std"}),
    ("rank=1, scale_type=tensor, scale=128, update_proj_gap=4",
     {"rank": 1, "scale_type": "tensor", "scale": 128.0, "proj_type": "std"}),
    ("rank=2,scale_type=tensor,proj_type=reverse_std,update_proj_gap=4",
     {"rank": 2, "scale_type": "tensor", "scale": 1.0, "proj_type": "reverse_std"}),
]
cases = []
for args, low_rank in CASES:
    p = {k: torch.nn.Parameter(v.clone()) for k, v in start.items()}
    optimizer = APOLLOAdamW(
        [{"params": [p[k]], "weight_decay": 0.1, "proj": "random", "update_proj_gap": GAP, **low_rank}
         for k in ("tall", "wide", "square")] + [{"params": [p["v"]], "weight_decay": 0.0}],
        lr=0.0, betas=(0.8, 0.95), eps=1e-6)
    names = {optimizer.state[p[k]]["seed"]: k for k in SHAPES}
    step = 0
    projector.next_seed = lambda seed: seed  # the name's number
    projector.stable_randn = lambda shape, seed, **_: normal(list(shape), names[seed], step // GAP)
    after = {}
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = RATES[step]
        for k in p:
            p[k].grad = gradients[step][k].clone()
        optimizer.step()
        if step in (0, STEPS - 1):
            after[str(step + 1)] = {k: [float(f"{x:.7g}") for x in v.detach().flatten().tolist()] for k, v in p.items()}
    cases.append({"settings": {"optim": "apollo_adamw", "optim_args": args, "adam_beta1": 0.8, "adam_beta2": 0.95,
                               "adam_epsilon": 1e-6, "weight_decay": 0.1, "max_grad_norm": 0}, "after": after})

flat = lambda tensors: {k: [round(x, 3) for x in v.flatten().tolist()] for k, v in tensors.items()}
golden = {"shapes": SHAPES, "rates": RATES, "start": flat(start), "gradients": [flat(g) for g in gradients],
          "cases": cases}
path = os.path.join(os.path.dirname(__file__), "..", "tests", "goldens", "learn_train", "optimizers_apollo.json")
with open(path, "w") as f:
    json.dump(golden, f)
    f.write("\n")
