#!/usr/bin/env python3
"""Loss and gradients with Transformers' LabelSmoother: tests/goldens/learn_train/label_smoothing.json.

Needs torch and transformers. The model and its sequences are those of tests/goldens/models/gpt2_tiny; of each
gradient the golden holds the sum and the sum of magnitudes.
"""
import json
import pathlib

import torch
from transformers import AutoModelForCausalLM
from transformers.trainer_pt_utils import LabelSmoother

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens"
FACTOR = 0.1
model = AutoModelForCausalLM.from_pretrained(ROOT / "models" / "gpt2_tiny", dtype=torch.float32).eval()
sequences = json.load(open(ROOT / "models" / "gpt2_tiny" / "golden.json"))["sequences"]
labels = sum(len(s) - 1 for s in sequences)
loss = 0.0
for s in sequences:
    ids = torch.tensor([s])
    loss = loss + LabelSmoother(FACTOR)(model(input_ids=ids), ids, shift_labels=True, num_items_in_batch=labels)
loss.backward()
gradients = {name: [p.grad.sum().item(), p.grad.abs().sum().item()] for name, p in model.named_parameters()}
with open(ROOT / "learn_train" / "label_smoothing.json", "w") as f:
    json.dump({"factor": FACTOR, "loss": loss.item(), "gradients": gradients}, f, indent=1)
    f.write("\n")
