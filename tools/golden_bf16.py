#!/usr/bin/env python3
"""Loss and gradients when every matrix product of a model takes operands rounded to bfloat16 and sums in float32, as
`hone train --bf16` does: tests/goldens/learn_train/bf16.json.

Needs torch and transformers. Models and sequences are those of tests/goldens/models; of each gradient the golden holds
the sum and the sum of magnitudes.
"""
import json
import pathlib

import torch
from transformers import AutoModelForCausalLM
from transformers.pytorch_utils import Conv1D

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens"


def rounded(x):
    return x.to(torch.bfloat16).to(torch.float32)


class Product(torch.autograd.Function):
    """x [T,K] times w [K,N]; the gradients are products of rounded operands too."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return rounded(x) @ rounded(w)

    @staticmethod
    def backward(ctx, d):
        x, w = ctx.saved_tensors
        return rounded(d) @ rounded(w).T, rounded(x).T @ rounded(d)


def product(module, x, w):
    y = Product.apply(x.reshape(-1, x.shape[-1]), w)
    y = y if module.bias is None else y + module.bias
    return y.reshape(*x.shape[:-1], -1)


torch.nn.Linear.forward = lambda self, x: product(self, x, self.weight.T)
Conv1D.forward = lambda self, x: product(self, x, self.weight)

golden = {}
for name in ["gpt2_tiny", "llama_tied_tiny", "qwen2_tiny", "gemma2_tiny", "gemma3_tiny", "phi3_tiny", "glm4_tiny",
             "olmo2_tiny", "cohere2_tiny"]:
    folder = ROOT / "models" / name
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    sequences = json.load(open(folder / "golden.json"))["sequences"]
    labels = sum(len(s) - 1 for s in sequences)
    loss = 0.0
    for s in sequences:
        ids = torch.tensor([s])
        logits = model(input_ids=ids).logits[0, :-1]
        loss = loss + torch.nn.functional.cross_entropy(logits, ids[0, 1:], reduction="sum") / labels
    loss.backward()
    golden[name] = {
        "loss": loss.item(),
        "gradients": {n: [p.grad.sum().item(), p.grad.abs().sum().item()] for n, p in model.named_parameters()},
    }
with open(ROOT / "learn_train" / "bf16.json", "w") as f:
    json.dump(golden, f, indent=1)
    f.write("\n")
