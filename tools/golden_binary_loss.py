#!/usr/bin/env python3
"""Losses and gradients of timm's BinaryCrossEntropy: tests/goldens/image_losses/binary.json. Needs torch and timm.

`shares` are the targets before the threshold: with label smoothing those that timm makes of the classes.
"""
import json
import pathlib

import torch
from timm.loss import BinaryCrossEntropy

FILE = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "image_losses" / "binary.json"
CLASSES, SMOOTHING = 5, 0.1
torch.manual_seed(1)
logits = torch.randn(3, CLASSES) * 3
logits[0, :] = 0  # as of a head of zeros
classes = torch.tensor([1, 4, 0])
smooth = torch.full((3, CLASSES), SMOOTHING / CLASSES).scatter_(1, classes[:, None], 1 - SMOOTHING + SMOOTHING / CLASSES)
hard = torch.nn.functional.one_hot(classes, CLASSES).float()
mixed = 0.7 * smooth + 0.3 * smooth.flip(0)
cases = []
for shares, targets, options in (
        (hard, classes, dict(smoothing=0.0)),
        (smooth, classes, dict(smoothing=SMOOTHING)),
        (smooth, classes, dict(smoothing=SMOOTHING, sum_classes=True)),
        (mixed, mixed, dict(smoothing=SMOOTHING)),
        (mixed, mixed, dict(smoothing=SMOOTHING, target_threshold=0.2)),
        (mixed, mixed, dict(smoothing=SMOOTHING, target_threshold=0.2, sum_classes=True))):
    x = logits.clone().requires_grad_()
    loss = BinaryCrossEntropy(**options)(x, targets)
    loss.backward()
    cases.append(dict(threshold=options.get("target_threshold", 0), sums=options.get("sum_classes", False),
                      shares=shares.tolist(), loss=loss.item(), gradient=x.grad.tolist()))
FILE.parent.mkdir(exist_ok=True)
FILE.write_text(json.dumps(dict(logits=logits.tolist(), cases=cases)) + "\n")
