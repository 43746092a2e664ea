#!/usr/bin/env python3
"""Writes every named intermediate and gradient of a Transformers causal model into one safetensors file.

    tools/trace_transformers.py --model_name_or_path DIR --ids '5 6 7; 8 9' --output trace.safetensors
    tools/trace_transformers.py --model_name_or_path DIR --ids rows.json --output trace.safetensors

docs/tracing.md says what the names and shapes mean and how `hone diff` reads them.
"""
import argparse
import json
import pathlib

import torch
from safetensors.torch import save_file
from saved_names import saved_parts
from transformers import AutoModelForCausalLM


def read_ids(text):
    """Rows of ids from '1 2 3; 4 5', from a golden.json (its `sequences`), or from JSON lines {"ids": [...]}."""
    path = pathlib.Path(text)
    if path.suffix == ".jsonl":
        return [json.loads(line)["ids"] for line in path.read_text().splitlines() if line.strip()]
    if path.suffix == ".json":
        value = json.loads(path.read_text())
        return value["sequences"] if isinstance(value, dict) else value
    return [[int(token) for token in row.replace(",", " ").split()] for row in text.split(";")]


class Tracer:
    """Collects the outputs of all modules, row after row, in the order in which the modules finish."""

    def __init__(self, model, with_output_gradients):
        self.rows = {}
        self.kept = {}
        self.with_output_gradients = with_output_gradients
        for name, module in model.named_modules():
            if name:
                module.register_forward_hook(lambda _m, _in, out, name=name: self.take(name, out))
            if name.endswith(("attn.c_proj", "attn.o_proj")):
                # What attention itself computed: no module's output, but the input of its projection.
                context = name.rpartition(".")[0] + ".context"
                module.register_forward_pre_hook(lambda _m, inputs, name=context: self.take(name, inputs[0]))

    def take(self, name, out):
        if not torch.is_tensor(out):
            named = {f"{name}.{k}": v for k, v in out.items()} if isinstance(out, dict) else None
            if named is None and name.endswith("rotary_emb"):
                named = {f"{name}.cos": out[0], f"{name}.sin": out[1]}
            for key, value in (named or {name: out[0]}).items():
                if torch.is_tensor(value):
                    self.take(key, value)
            return
        if self.with_output_gradients and out.requires_grad:
            out.retain_grad()
            self.kept.setdefault(name, []).append(out)
        # [1, tokens, ...] of a row run alone becomes rows of the packed [total tokens, ...].
        flat = out.detach().squeeze(0) if out.ndim > 1 and out.shape[0] == 1 else out.detach()
        self.rows.setdefault(name, []).append(flat.float().clone())


def trace(model, rows, with_output_gradients):
    tracer = Tracer(model, with_output_gradients)
    labels = sum(len(row) - 1 for row in rows)
    losses = []
    for row in rows:
        ids = torch.tensor([row])
        logits = model(input_ids=ids, use_cache=False).logits[0]
        losses.append(torch.nn.functional.cross_entropy(logits[:-1].float(), ids[0, 1:], reduction="sum"))
    loss = sum(losses) / max(labels, 1)
    loss.backward()
    named = {f"act.{name}": torch.cat(parts).contiguous() for name, parts in tracer.rows.items()}
    named["loss"] = loss.detach().reshape(1)
    # Output gradients and weight gradients follow in the order in which backward reaches them: from the last layer on.
    for name, parts in reversed(tracer.kept.items()):
        if all(part.grad is not None for part in parts):
            named[f"dact.{name}"] = torch.cat([part.grad[0].float() for part in parts]).contiguous()
    for name, parameter in reversed(list(model.named_parameters())):
        if parameter.grad is not None:
            for saved, part in saved_parts(model.config.model_type, name, parameter.grad):
                named[f"grad.{saved}"] = part.float().contiguous()
    return named


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model_name_or_path", required=True)
    parser.add_argument("--ids", required=True, help="'1 2 3; 4 5', rows.json, golden.json or rows.jsonl")
    parser.add_argument("--output", required=True)
    parser.add_argument("--dtype", default="float32", help="what the model computes in; the file is always f32")
    parser.add_argument("--output_gradients", action="store_true", help="also dact.<scope>, of module outputs")
    parser.add_argument("--train_mode", action="store_true", help="leave dropout on (its masks are PyTorch's own)")
    arguments = parser.parse_args()
    model = AutoModelForCausalLM.from_pretrained(arguments.model_name_or_path, attn_implementation="eager",
                                                 dtype=getattr(torch, arguments.dtype))
    model.train(arguments.train_mode)
    named = trace(model, read_ids(arguments.ids), arguments.output_gradients)
    save_file(named, arguments.output, metadata={"order": json.dumps(list(named))})
    print(f"{arguments.output}: {len(named)} tensors, loss {named['loss'].item():.6f}")


if __name__ == "__main__":
    main()
