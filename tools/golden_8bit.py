#!/usr/bin/env python3
"""8-bit optimizer states: tests/goldens/learn_train/optimizers_8bit.json.

Needs torch and bitsandbytes. The maps are bitsandbytes' create_dynamic_map; codes come from the search
that its CUDA kernels make (written out below); ten steps are those of its own AdamW and Lion on the CPU,
whose rounding to a table of 65,536 bins is replaced by this search. Values are made from integers, so that
the test makes them again: value() here and in update_8bit_test.cc.
"""
import json
import os

import bitsandbytes as bnb
import bitsandbytes.backends.cpu.ops as cpu_ops
import bitsandbytes.functional as F
import numpy as np
import torch

f32 = np.float32
BLOCK = 256
MAPS = {True: F.create_dynamic_map(True).numpy(), False: F.create_dynamic_map(False).numpy()}


def value(seed, count):
    """Cubes of numbers between -1 and 1: few are large."""
    i = np.arange(count, dtype=np.uint64)
    h = ((i + np.uint64(1)) * np.uint64(2654435761) + np.uint64(seed) * np.uint64(40503)) >> np.uint64(8)
    u = (h % np.uint64(65536)).astype(np.float64) / 32768 - 1
    return (u * u * u).astype(f32)


def search(code, x, signed):
    """quantize_2D of bitsandbytes' kernels.cu, for one number, and the sign that is kept after it."""
    pivot, upper_pivot, lower_pivot = 127, 255, 0
    lower, upper, val = f32(-1 if signed else 0), f32(1), code[127]
    i = 64
    while i > 0:
        if x > val:
            lower_pivot, lower, pivot = pivot, val, pivot + i
        else:
            upper_pivot, upper, pivot = pivot, val, pivot - i
        val = code[pivot]
        i >>= 1
    if x > val:
        found = upper_pivot if x > (upper + val) * f32(0.5) else pivot
    else:
        found = lower_pivot if x < (lower + val) * f32(0.5) else pivot
    if signed and np.signbit(code[found]) != np.signbit(x):
        found += 1 if x > 0 else -1
    return found


def quantize(x, signed):
    x = x.reshape(-1)
    codes, absmax = np.zeros(x.size, np.uint8), []
    for begin in range(0, x.size, BLOCK):
        block = x[begin:begin + BLOCK]
        most = np.abs(block).max()
        absmax.append(most)
        if most > 0:
            codes[begin:begin + BLOCK] = [search(MAPS[signed], v, signed) for v in block / most]
    return codes, np.array(absmax, f32)


def quantize_like_cuda(x, code, absmax_out, codes_out, blocksize):
    assert blocksize == BLOCK
    codes, absmax = quantize(x.numpy(), bool(code[0] < 0))
    codes_out.copy_(torch.from_numpy(codes).reshape(codes_out.shape))
    absmax_out.copy_(torch.from_numpy(absmax))


cpu_ops._quant_blockwise_fp32_direct = quantize_like_cuda

SHAPES = {"large": [67, 65], "table": [64, 64], "v": [300]}  # 17 blocks, the last one is short
STEPS = 10
RATES = [0.02 * (STEPS - i) / STEPS for i in range(STEPS)]
BETAS = {"adam_beta1": 0.8, "adam_beta2": 0.95, "adam_epsilon": 1e-6}
ADAMW = lambda g: bnb.optim.AdamW(g, betas=(0.8, 0.95), eps=1e-6, optim_bits=8)
LION = lambda g: bnb.optim.Lion(g, betas=(0.8, 0.95), optim_bits=8)
BNB_NAMES = {"state1": "state1", "absmax1": "absmax1", "state2": "state2", "absmax2": "absmax2"}
TORCHAO_NAMES = {"state1": "exp_avg", "absmax1": "exp_avg_scale", "state2": "exp_avg_sq", "absmax2": "exp_avg_sq_scale"}
CASES = [  # optimizer; the weight that keeps 32 bits; the names of the other one's states
    ("adamw_bnb_8bit", ADAMW, "table", BNB_NAMES),  # as the Trainer does for torch.nn.Embedding
    ("lion_8bit", LION, "table", BNB_NAMES),
    ("adamw_torch_8bit", ADAMW, "large", TORCHAO_NAMES),  # torchao's rule for numbers that are not whole blocks
]
KEPT = 11  # every 11th element of a result

cases = []
for optim, make, floats, names in CASES:
    settings = {"optim": optim, **BETAS, "weight_decay": 0.1}
    manager = bnb.optim.GlobalOptimManager.get_instance()
    manager.initialize()
    p = {k: torch.nn.Parameter(torch.from_numpy(value(100 + n, int(np.prod(s))).reshape(s)))
         for n, (k, s) in enumerate(SHAPES.items())}
    manager.override_config(p[floats], "optim_bits", 32)
    optimizer = make([{"params": [p["large"], p["table"]], "weight_decay": settings["weight_decay"]},
                      {"params": [p["v"]], "weight_decay": 0.0}])
    manager.register_parameters(optimizer.param_groups)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = RATES[step]
        for n, (k, s) in enumerate(SHAPES.items()):
            p[k].grad = torch.from_numpy(value(200 + 10 * step + n, int(np.prod(s))).reshape(s) * f32(0.01 ** n))
        optimizer.step()
    coded = "large" if floats == "table" else "table"
    state = optimizer.state[p[coded]]
    assert state["state1"].dtype == torch.uint8 and optimizer.state[p[floats]]["state1"].dtype == torch.float32
    case = {"settings": {"max_grad_norm": 0, **settings}, "coded": coded, "after": {}, "codes": {}, "absmax": {}}
    for k in SHAPES:
        case["after"][k] = [float(f"{x:.7g}") for x in p[k].detach().flatten().tolist()[::KEPT]]
    for k in ("state1", "state2"):
        if k in state:
            case["codes"][f"{names[k]}.{coded}"] = state[k].flatten().tolist()[::KEPT]
            most = "absmax" + k[-1]
            case["absmax"][f"{names[most]}.{coded}"] = [float(f"{x:.7g}") for x in state[most].tolist()]
    cases.append(case)

numbers = value(1, 700)
numbers[256:512] *= f32(1e-4)
golden = {"maps": {name: [float(f"{x:.9g}") for x in MAPS[signed].tolist()]
                   for name, signed in (("signed", True), ("unsigned", False))},
          "codes": {"signed": quantize(numbers, True)[0].tolist(),
                    "unsigned": quantize(np.abs(numbers), False)[0].tolist()},
          "kept": KEPT, "shapes": SHAPES, "rates": RATES, "cases": cases}
path = os.path.join(os.path.dirname(__file__), "..", "tests", "goldens", "learn_train", "optimizers_8bit.json")
with open(path, "w") as f:
    json.dump(golden, f)
    f.write("\n")
