#!/usr/bin/env python3
"""Ten losses of tiny models whose weights are bfloat16 alone: tests/goldens/learn_train/pure_bf16.json.

Needs torch and transformers. Models, rows and settings are those of the f32 goldens beside the models. Weights,
activations, gradients and optimizer states are bfloat16. AdamW computes in float32, as torchao's does, and rounds the
new weights to the nearest.
"""
import json
import pathlib

import torch
from transformers import AutoModelForCausalLM, get_linear_schedule_with_warmup
from transformers.trainer import Trainer

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens"
STEPS = 10


class AdamW(torch.optim.Optimizer):
    def __init__(self, groups, lr, betas, eps):
        super().__init__(groups, dict(lr=lr, betas=betas, eps=eps))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            lr, eps, (beta1, beta2) = group["lr"], group["eps"], group["betas"]
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state.update(step=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                state["step"] += 1
                g = p.grad.float()
                m = state["m"].float().lerp(g, 1 - beta1)
                v = state["v"].float().lerp(g * g, 1 - beta2)
                root = (v / (1 - beta2 ** state["step"])).sqrt()
                change = lr * (m / (1 - beta1 ** state["step"])) / (root + eps)
                p.copy_(p.float() * (1 - lr * group["weight_decay"]) - change)
                state["m"].copy_(m)
                state["v"].copy_(v)


def train(model, facts):
    settings, rows = facts["settings"], facts["rows"]
    decayed = Trainer.get_decay_parameter_names(None, model)
    named = dict(model.named_parameters())
    optimizer = AdamW(
        [dict(params=[p for n, p in named.items() if n in decayed], weight_decay=settings["weight_decay"]),
         dict(params=[p for n, p in named.items() if n not in decayed], weight_decay=0.0)],
        lr=settings["learning_rate"], betas=(settings["adam_beta1"], settings["adam_beta2"]),
        eps=settings["adam_epsilon"])
    scheduler = get_linear_schedule_with_warmup(optimizer, settings["warmup_steps"], STEPS)
    losses, norms = [], []
    for step in facts["micro"]:
        labels = sum(len(rows[i]) - 1 for batch in step for i in batch)
        total = 0.0
        for batch in step:
            loss = 0.0
            for i in batch:
                ids = torch.tensor([rows[i]])
                logits = model(input_ids=ids, use_cache=False).logits[0, :-1].float()
                loss = loss + torch.nn.functional.cross_entropy(logits, ids[0, 1:], reduction="sum") / labels
            loss.backward()
            total += loss.item()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), settings["max_grad_norm"]).item())
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        losses.append(total)
    return dict(losses=losses, grad_norms=norms)


torch.set_num_threads(1)
golden = {}
for name in ["gpt2_tiny", "llama_tied_tiny", "qwen2_tiny"]:
    facts = json.load(open(ROOT / "models" / name / "golden.json"))["train"]
    model = AutoModelForCausalLM.from_pretrained(ROOT / "models" / name, dtype=torch.bfloat16,
                                                 attn_implementation="eager").eval()
    golden[name] = train(model, facts)
    apart = max(abs(a / b - 1) for a, b in zip(golden[name]["losses"], facts["losses"]))
    print(f"{name}: at most {apart:.1e} from the losses in f32")
with open(ROOT / "learn_train" / "pure_bf16.json", "w") as f:
    json.dump(golden, f, indent=1)
    f.write("\n")
