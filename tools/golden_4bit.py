#!/usr/bin/env python3
"""4-bit optimizer states: tests/goldens/learn_train/optimizers_4bit.json.

Ten steps of torchao's AdamW4bit, not compiled, if torch and torchao are installed. Otherwise ten steps by the
formulas (B. Li et al., "Memory Efficient Optimizers with 4-bit States", arXiv 2309.01507, without ranks: blocks of
128, the signed dynamic map of 4 bits, the linear map without 0), each number rounded to f32; `by` says which.
Values are made from integers, so that the test makes them again: value() here and in update_8bit_test.cc.
"""
import json
import os
import struct

os.environ["TORCHDYNAMO_DISABLE"] = "1"

SHAPES = {"large": [66, 64], "table": [67, 65], "v": [300]}  # the last two are not whole blocks
STEPS = 10
KEPT = 11  # every 11th element of a result
RATES = [0.02 * (STEPS - i) / STEPS for i in range(STEPS)]
SETTINGS = {"optim": "adamw_torch_4bit", "adam_beta1": 0.8, "adam_beta2": 0.95, "adam_epsilon": 1e-6, "weight_decay": 0.1,
            "max_grad_norm": 0}
BLOCK = 128


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def value(seed, count, scale=1.0):
    """Cubes of numbers between -1 and 1: few are large."""
    made = []
    for i in range(count):
        u = (((i + 1) * 2654435761 + seed * 40503) % 2**64 >> 8) % 65536 / 32768 - 1
        made.append(f32(f32(u * u * u) * f32(scale)))
    return made


def count_of(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def weight(n, name):
    return value(100 + n, count_of(SHAPES[name]))


def gradient(step, n, name):
    return value(200 + 10 * step + n, count_of(SHAPES[name]), 0.01**n)


def steps_of_torchao():
    import torch
    import torchao
    from torchao.optim import AdamW4bit

    p = {k: torch.nn.Parameter(torch.tensor(weight(n, k)).reshape(s)) for n, (k, s) in enumerate(SHAPES.items())}
    betas = (SETTINGS["adam_beta1"], SETTINGS["adam_beta2"])
    optimizer = AdamW4bit([{"params": [p["large"], p["table"]], "weight_decay": SETTINGS["weight_decay"]},
                           {"params": [p["v"]], "weight_decay": 0.0}], betas=betas, eps=SETTINGS["adam_epsilon"])
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"].fill_(RATES[step])
        for n, (k, s) in enumerate(SHAPES.items()):
            p[k].grad = torch.tensor(gradient(step, n, k)).reshape(s)
        optimizer.step()
    states = optimizer.state[p["large"]]
    assert optimizer.state[p["v"]]["exp_avg"].dtype == torch.float32
    made = {k: (states[k].codes.tolist(), states[k].scale.tolist()) for k in ("exp_avg", "exp_avg_sq")}
    maps = {name: states[k].qmap.tolist() for name, k in (("signed", "exp_avg"), ("unsigned", "exp_avg_sq"))}
    return f"torchao {torchao.__version__}", {k: x.detach().flatten().tolist() for k, x in p.items()}, made, maps


def signed_map():
    numbers = [0.0, 1.0]
    for i in range(3):
        edges = [f32(0.1 + 0.9 * k / 2**i) for k in range(2**i)] + [1.0]
        for low, high in zip(edges, edges[1:]):
            mean = f32(f32(10.0 ** (i - 2)) * f32((low + high) / 2))
            numbers += [mean, -mean]
    return sorted(numbers)


MAPS = {"exp_avg": signed_map(), "exp_avg_sq": [k / 16 for k in range(1, 17)]}


def code_of(x, numbers):
    code = sum(x >= number for number in numbers[1:])
    up = min(code + 1, 15)
    return up if f32(x - numbers[code]) >= f32(f32(numbers[up] - numbers[code]) * 0.5) else code


def encode(x, numbers):
    codes, scales = [], []
    for begin in range(0, len(x), BLOCK):
        block = x[begin:begin + BLOCK]
        scales.append(max(f32(1e-12), max(map(abs, block))))
        codes += [code_of(f32(v / scales[-1]), numbers) for v in block]
    return [16 * a + b for a, b in zip(codes[::2], codes[1::2])], scales


def decode(codes, scales, numbers):
    each = [c for both in codes for c in (both >> 4, both & 15)]
    return [f32(numbers[c] * scales[i // BLOCK]) for i, c in enumerate(each)]


def adamw_step(p, g, m, v, step, decay):
    """p', m' and v'; `step` from 0."""
    rate, one, two = RATES[step], SETTINGS["adam_beta1"], SETTINGS["adam_beta2"]
    root, correction = (1 - two ** (step + 1))**0.5, 1 - one ** (step + 1)
    for i in range(len(p)):
        m[i] = f32(m[i] + (1 - one) * f32(g[i] - m[i]))
        v[i] = f32(v[i] + (1 - two) * f32(f32(g[i] * g[i]) - v[i]))
        change = f32(m[i] / correction) / f32(f32(v[i]**0.5) / root + SETTINGS["adam_epsilon"])
        p[i] = f32(p[i] - rate * decay * p[i] - rate * change)


def steps_of_formulas():
    after, made = {}, {}
    for n, (k, s) in enumerate(SHAPES.items()):
        p, count = weight(n, k), count_of(s)
        m, v = [0.0] * count, [0.0] * count
        coded = count >= 4096 and count % BLOCK == 0
        for step in range(STEPS):
            adamw_step(p, gradient(step, n, k), m, v, step, 0.0 if k == "v" else SETTINGS["weight_decay"])
            if coded:
                for name, x in (("exp_avg", m), ("exp_avg_sq", v)):
                    made[name] = encode(x, MAPS[name])
                    x[:] = decode(*made[name], MAPS[name])
        after[k] = p
    return "formulas", after, made, {"signed": MAPS["exp_avg"], "unsigned": MAPS["exp_avg_sq"]}


try:
    by, after, states, maps = steps_of_torchao()
except ImportError:
    by, after, states, maps = steps_of_formulas()
case = {"settings": SETTINGS, "coded": "large", "codes": {}, "absmax": {},
        "after": {k: [float(f"{x:.7g}") for x in numbers[::KEPT]] for k, numbers in after.items()}}
for name, (codes, scales) in states.items():
    case["codes"][f"{name}.large"] = codes[::KEPT]
    case["absmax"][f"{name}_scale.large"] = [float(f"{x:.7g}") for x in scales]
golden = {"by": by, "maps": {name: [float(f"{x:.9g}") for x in numbers] for name, numbers in maps.items()},
          "kept": KEPT, "shapes": SHAPES, "rates": RATES, "cases": [case]}
path = os.path.join(os.path.dirname(__file__), "..", "tests", "goldens", "learn_train", "optimizers_4bit.json")
with open(path, "w") as f:
    json.dump(golden, f)
    f.write("\n")
