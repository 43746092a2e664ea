#!/usr/bin/env python3
"""Makes tests/goldens/learn_train/router_loss.json: losses and gradients of the tiny models with experts, with Transformers'
loss of routers (output_router_logits, router_aux_loss_coef).

    tools/golden_router_loss.py        (make golden MODEL=router_loss)

By model: coef; loss of the golden's sequences as one padded batch; aux, the loss of routers before coef; gradients: sum and
sum of magnitudes of each tensor, those of all experts as one; split_loss of the first sequence and the others as two
micro-batches, each weighed with its labels; losses and grad_norms of ten steps, each on one batch.
"""
import copy
import json
import pathlib
import re

import torch
from golden_models import ACCUMULATION, ROOT, ROWS_PER_MICRO, STEPS
from saved_names import saved_parts
from transformers import AutoModelForCausalLM, get_linear_schedule_with_warmup
from transformers.trainer import Trainer

MODELS = ("mixtral_tiny", "qwen2_moe_tiny", "qwen3_moe_tiny", "olmoe_tiny", "gpt_oss_tiny")
COEF = 0.5
OUT = ROOT.parent / "learn_train" / "router_loss.json"


def output_of(model, rows):
    longest = max(map(len, rows))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    return model(input_ids=ids, attention_mask=mask, labels=ids.masked_fill(mask == 0, -100), use_cache=False)


def labels_of(rows):
    return sum(len(row) - 1 for row in rows)


def gradients_of(model):
    sums = {}
    for name, parameter in model.named_parameters():
        for saved, part in saved_parts(model.config.model_type, name, parameter.grad.double()):
            of = sums.setdefault(re.sub(r"\.experts\.\d+\.", ".experts.*.", saved), [0.0, 0.0])
            of[0] += part.sum().item()
            of[1] += part.abs().sum().item()
    return sums


def train(model, golden):
    settings, rows = golden["settings"], golden["rows"]
    decayed = Trainer.get_decay_parameter_names(None, model)
    groups = [dict(params=[p for n, p in model.named_parameters() if (n in decayed) == decay],
                   weight_decay=settings["weight_decay"] if decay else 0.0) for decay in (True, False)]
    optimizer = torch.optim.AdamW(groups, lr=settings["learning_rate"], betas=(0.9, 0.999), eps=1e-8)
    scheduler = get_linear_schedule_with_warmup(optimizer, settings["warmup_steps"], STEPS)
    losses, norms = [], []
    for micro in golden["micro"]:
        loss = output_of(model, [rows[i] for batch in micro for i in batch]).loss
        loss.backward()
        losses.append(loss.item())
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), settings["max_grad_norm"]).item())
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    return dict(losses=losses, grad_norms=norms)


def make(name):
    folder = ROOT / name
    golden = json.loads((folder / "golden.json").read_text())
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", experts_implementation="eager",
                                                 output_router_logits=True, router_aux_loss_coef=COEF)
    model = model.float().eval()
    rows = golden["sequences"]
    output = output_of(model, rows)
    output.loss.backward()
    made = dict(coef=COEF, loss=output.loss.item(), aux=output.aux_loss.item(), gradients=gradients_of(model))
    model.zero_grad()
    with torch.no_grad():
        made["split_loss"] = sum(output_of(model, part).loss.item() * labels_of(part)
                                 for part in (rows[:1], rows[1:])) / labels_of(rows)
    made.update(train(copy.deepcopy(model), golden["train"]))
    assert ACCUMULATION * ROWS_PER_MICRO == sum(map(len, golden["train"]["micro"][0]))
    return made


if __name__ == "__main__":
    torch.set_num_threads(1)
    made = {name: make(name) for name in MODELS}
    OUT.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in made.items()) + "\n}\n")
    for name, values in made.items():
        print(f"{name}: loss {values['loss']:.4f}, of routers {values['aux']:.4f}")
