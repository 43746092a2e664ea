#!/usr/bin/env python3
"""Ten losses of tiny models under PyTorch's autocast: tests/goldens/learn_train/autocast.json.

    tools/golden_autocast.py [MODEL ...]       (no name: all of them)

Needs torch and transformers. Models, rows and settings are those of the f32 goldens beside the models; the loss is
made in f32 from the logits, as models under autocast make it. In float16 the GradScaler of PyTorch scales the loss
and skips what overflows.
"""
import importlib.util
import itertools
import json
import pathlib
import sys

import torch
import transformers
from golden_models import adamw_of
from transformers.trainer import Trainer

TOOLS = pathlib.Path(__file__).resolve().parent
ROOT = TOOLS.parent / "tests" / "goldens"
STEPS = 10


def tool(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def causal(model, row):
    ids = torch.tensor([row])
    return model(input_ids=ids, use_cache=False).logits[0][:-1], ids[0, 1:]


def pair(model, row):
    return tool_seq2seq.logits_of(model, row), torch.tensor(row[1])


def masked(model, row):
    return model(input_ids=torch.tensor([row["ids"]])).logits[0], torch.tensor(row["labels"])


def train(model, steps, settings, logits_of, dtype):
    decayed = Trainer.get_decay_parameter_names(None, model)
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    optimizer, scheduler = adamw_of(named, decayed, settings)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, enabled=dtype == torch.float16)  # none overflows
    losses, norms = [], []
    for batches in steps:
        total, labels = 0.0, 0
        for batch in batches:
            for row in batch:
                with torch.no_grad():
                    labels += (logits_of(model, row)[1] != -100).sum().item()
        for batch in batches:
            loss = 0.0
            for row in batch:
                with torch.autocast("cpu", dtype):
                    logits, wanted = logits_of(model, row)
                loss = loss + torch.nn.functional.cross_entropy(logits.float(), wanted, ignore_index=-100,
                                                                reduction="sum") / labels
            scaler.scale(loss).backward()
            total += loss.item()
        scaler.unscale_(optimizer)
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), settings["max_grad_norm"]).item())
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        optimizer.zero_grad()
        losses.append(total)
    return dict(losses=losses, grad_norms=norms)


def first(kind, name):
    model = kind.from_pretrained(ROOT / name, dtype=torch.float32, attn_implementation="eager").eval()
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("eager")
    return model


def spread(run, kind, name, steps, settings, logits_of, dtype):
    """The largest relative difference of a loss, and of a norm (norms below 1 count as 1), up to each step."""
    losses, norms = [0.0] * STEPS, [0.0] * STEPS
    for seed in range(CHANGED_RUNS):
        torch.manual_seed(seed)
        model = first(kind, name)
        with torch.no_grad():
            for p in model.parameters():
                p.mul_(1 + CHANGE * (2 * torch.rand_like(p) - 1))
        other = train(model, steps, settings, logits_of, dtype)
        for i in range(STEPS):
            losses[i] = max(losses[i], abs(other["losses"][i] / run["losses"][i] - 1))
            norms[i] = max(norms[i], abs(other["grad_norms"][i] - run["grad_norms"][i]) / max(1, run["grad_norms"][i]))
    return dict(loss_spread=list(itertools.accumulate(losses, max)), norm_spread=list(itertools.accumulate(norms, max)))


tool_seq2seq = tool("golden_seq2seq")
# In bf16 alone: decoders with layers, experts or heads of other kinds.
DECODERS = ("lfm2", "qwen2_moe", "olmoe", "gpt_oss", "apertus", "hunyuan", "olmo3", "ministral3", "smollm3", "cohere2")
# Also in bf16 alone: roundings send tokens to other experts, or change gradients that hardly any token has. How far apart
# PyTorch's own runs are when their first weights are changed by less than bf16 keeps is part of the golden. Qwen3-Next is
# left out: those runs have norms that differ sixfold.
SPREAD = ("mixtral", "qwen3_moe", "qwen3_5", "qwen3_5_moe", "gemma4", "gemma4_moe")
CHANGED_RUNS, CHANGE = 6, 2e-4
MODELS = {"models/gpt2_tiny": (transformers.AutoModelForCausalLM, causal),
          "models/t5_tiny": (transformers.AutoModelForSeq2SeqLM, pair),
          "mlm/bert_tiny": (transformers.AutoModelForMaskedLM, masked),
          **{f"models/{name}_tiny": (transformers.AutoModelForCausalLM, causal) for name in DECODERS + SPREAD}}
BOTH = {"bf16": torch.bfloat16, "fp16": torch.float16}
torch.set_num_threads(1)
path = ROOT / "learn_train" / "autocast.json"
golden = json.loads(path.read_text()) if sys.argv[1:] else {}
for name in sys.argv[1:] or MODELS:
    kind, logits_of = MODELS[name]
    facts = json.load(open(ROOT / name / "golden.json"))["train"]
    steps = facts.get("steps") or [[[facts["rows"][i] for i in batch] for batch in step] for step in facts["micro"]]
    golden[name] = {}
    short = name.removeprefix("models/").removesuffix("_tiny")
    for key, dtype in BOTH.items():
        if key != "bf16" and short in DECODERS + SPREAD:
            continue
        golden[name][key] = train(first(kind, name), steps, facts["settings"], logits_of, dtype)
        if short in SPREAD:
            golden[name][key] |= spread(golden[name][key], kind, name, steps, facts["settings"], logits_of, dtype)
        apart = max(abs(a / b - 1) for a, b in zip(golden[name][key]["losses"], facts["losses"]))
        print(f"{name} {key}: at most {apart:.1e} from the losses in f32")
with open(path, "w") as f:
    json.dump(golden, f, indent=1)
    f.write("\n")
