#!/usr/bin/env python3
"""Loss and gradients when every matrix product of a model takes operands rounded to bfloat16 and sums in float32, as
`hone train --bf16` does: tests/goldens/learn_train/bf16.json.

Needs torch and transformers. Models and sequences are those of tests/goldens/models. Of each gradient the golden holds
the sum and the sum of magnitudes with attention in float32, and the most by which rounding the operands of attention's
products moves one of the two, to the nearest value or in draws of stochastic rounding: the weights of these models are large,
which multiplies a difference of one rounding in each layer.
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


def drawn(x):
    """One of the two bfloat16 values next to each element of x, the nearer one more often."""
    bits = x.contiguous().view(torch.int32)
    return ((bits + torch.randint(0, 1 << 16, bits.shape, dtype=torch.int32)) & -(1 << 16)).view(torch.float32)


in_attention = rounded  # or drawn


class HeadProduct(torch.autograd.Function):
    """A product of the matrices of attention's heads [B,H,.,.]."""

    @staticmethod
    def forward(ctx, x, y):
        x, y = in_attention(x), in_attention(y)
        result = plain_matmul(x, y)
        ctx.save_for_backward(x, y, result)
        return result

    @staticmethod
    def backward(ctx, d):
        x, y, result = ctx.saved_tensors
        d = in_attention(d)
        deltas.append((d * in_attention(result)).sum(-1, keepdim=True))
        return plain_matmul(d, y.mT), plain_matmul(x.mT, d)


class Softmax(torch.autograd.Function):
    """Its gradient takes the sum over a row from the rounded result of the product with the values, as FlashAttention
    does (Dao, 2023, algorithm 2: D)."""

    @staticmethod
    def forward(ctx, x):
        p = plain_softmax(x, dim=-1)
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, d):
        p, = ctx.saved_tensors
        return p * (d - deltas.pop())


DRAWS = 16
deltas = []  # of the product with the values, whose backward pass is the one before that of softmax
plain_matmul, plain_softmax = torch.matmul, torch.nn.functional.softmax
torch.nn.Linear.forward = lambda self, x: product(self, x, self.weight.T)
Conv1D.forward = lambda self, x: product(self, x, self.weight)


def measured(name, rounds_attention):
    """The loss, and the two sums of each gradient by name."""
    if rounds_attention:
        torch.matmul = lambda x, y: HeadProduct.apply(x, y) if x.dim() == 4 else plain_matmul(x, y)
        torch.nn.functional.softmax = lambda x, dim, dtype=None: Softmax.apply(x)
    folder = ROOT / "models" / name
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    sequences = json.load(open(folder / "golden.json"))["sequences"]
    labels = sum(len(s) - 1 for s in sequences)
    loss = 0.0
    for s in sequences:
        ids = torch.tensor([s])
        logits = model(input_ids=ids).logits[0, :-1]
        loss = loss + torch.nn.functional.cross_entropy(logits, ids[0, 1:], reduction="sum") / labels
    loss.backward()
    torch.matmul, torch.nn.functional.softmax = plain_matmul, plain_softmax
    return loss.item(), {n: (p.grad.sum().item(), p.grad.abs().sum().item()) for n, p in model.named_parameters()}


golden = {}
for name in ["gpt2_tiny", "llama_tied_tiny", "qwen2_tiny", "gemma2_tiny", "gemma3_tiny", "phi3_tiny", "glm4_tiny",
             "olmo2_tiny", "cohere2_tiny"]:
    loss, sums = measured(name, False)
    torch.manual_seed(0)
    moved = []
    for in_attention in [rounded] + DRAWS * [drawn]:
        moved.append(measured(name, True)[1])
    golden[name] = {
        "loss": loss,
        "gradients": {n: [*s, max(abs(a - b) for m in moved for a, b in zip(s, m[n]))] for n, s in sums.items()},
    }
with open(ROOT / "learn_train" / "bf16.json", "w") as f:
    json.dump(golden, f, indent=1)
    f.write("\n")
