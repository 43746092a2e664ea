#!/usr/bin/env python3
"""CIFAR-10 (2,500 images of shared/data) with a small ResNet or ViT: hone beside Transformers and torchvision.

The same first weights on both sides. `--equal`: the same pixels and order too (no random change, no shuffle), so the losses
of every step and the accuracy must agree. Else both train with random crops and flips, `--seeds` runs each, and the
mean accuracies are shown with their ranges. It needs torchvision and Transformers, so it is not among those of `run.sh`.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import torch
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2
from transformers import ResNetConfig, ResNetForImageClassification, ViTConfig, ViTForImageClassification

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("HONE_DATA", ROOT.parent / "shared" / "data")) / "img-cifar10-2500"
MEAN, STD = [0.5] * 3, [0.5] * 3


def new_model(kind, folder):
    torch.manual_seed(0)
    names = sorted(p.name for p in (DATA / "train").iterdir())
    labels = {"id2label": dict(enumerate(names)), "label2id": {n: i for i, n in enumerate(names)}}
    if kind == "resnet":
        model = ResNetForImageClassification(ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 64], depths=[1, 1, 1],
                                                          layer_type="basic", **labels))
    else:
        model = ViTForImageClassification(ViTConfig(hidden_size=64, num_hidden_layers=4, num_attention_heads=4, intermediate_size=128,
                                                    image_size=32, patch_size=4, **labels))
    model.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(
        {"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 32}, "image_mean": MEAN, "image_std": STD}))


def evaluate(model, rows):
    model.eval()
    right = 0
    with torch.no_grad():
        for pixels, labels in torch.utils.data.DataLoader(rows, 100):
            right += int((model(pixel_values=pixels).logits.argmax(-1) == labels).sum())
    return right / len(rows)


def run_peer(folder, o, seed):
    torch.manual_seed(seed)
    end = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    plain = v2.Compose([v2.Resize((32, 32)), v2.CenterCrop((32, 32)), *end])
    random = v2.Compose([v2.RandomResizedCrop(32), v2.RandomHorizontalFlip(), *end])
    train = ImageFolder(DATA / "train", plain if o.equal else random)
    model = (ResNetForImageClassification if o.model == "resnet" else ViTForImageClassification).from_pretrained(folder)
    plain_names = [n for n, m in model.named_modules() if isinstance(m, (torch.nn.LayerNorm, torch.nn.BatchNorm2d))]
    norms = {f"{m}.{p}" for m in plain_names for p in ("weight", "bias")}
    free = [p for n, p in model.named_parameters() if n in norms or n.endswith("bias")]
    decayed = [p for n, p in model.named_parameters() if not (n in norms or n.endswith("bias"))]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": free, "weight_decay": 0}], lr=o.rate)
    losses, begin = [], time.perf_counter()
    for _ in range(o.epochs):
        model.train()
        for pixels, labels in torch.utils.data.DataLoader(train, o.batch, shuffle=not o.equal):
            loss = model(pixel_values=pixels, labels=labels).loss
            losses.append(loss.item())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    seconds = time.perf_counter() - begin
    return losses, evaluate(model, ImageFolder(DATA / "val", plain)), seconds


def run_hone(folder, o, seed, out):
    plain = ["--random_resized_crop", "false", "--random_flip", "0", "--shuffle", "false"] if o.equal else []
    done = subprocess.run(
        [o.hone, "train", "--task", "image_classification", "--model_name_or_path", str(folder), "--dataset_name", str(DATA), "--do_train",
         "--do_eval", "--output_dir", str(out), "--num_train_epochs", str(o.epochs), "--per_device_train_batch_size", str(o.batch),
         "--per_device_eval_batch_size", "100", "--learning_rate", str(o.rate), "--weight_decay", "0.01", "--lr_scheduler_type",
         "constant", "--max_grad_norm", "0", "--logging_steps", "1", "--save_strategy", "no", "--seed", str(seed), *plain],
        capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    state = json.loads((out / "trainer_state.json").read_text())
    results = json.loads((out / "all_results.json").read_text())
    losses = [e["loss"] for e in state["log_history"] if "loss" in e]
    return losses, results["eval_accuracy"], results["train_runtime"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hone", default=str(ROOT / "build/hone"))
    parser.add_argument("--model", choices=["resnet", "vit"], default="resnet")
    parser.add_argument("--equal", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=1e-3)
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "model"
        new_model(o.model, folder)
        runs = []
        for seed in range(1 if o.equal else o.seeds):
            runs.append((run_peer(folder, o, seed), run_hone(folder, o, seed, pathlib.Path(temporary) / f"out{seed}")))
        for (theirs, their_accuracy, their_seconds), (ours, our_accuracy, our_seconds) in runs:
            apart = [abs(a - b) for a, b in zip(theirs, ours)]
            print(f"Transformers {their_accuracy:.3f} in {their_seconds:.1f} s, hone {our_accuracy:.3f} in {our_seconds:.1f} s; "
                  f"{len(ours)} and {len(theirs)} losses, at most {max(apart):.2e} apart, "
                  f"the first twenty {max(apart[:20]):.2e}")
        if not o.equal:
            for name, side in (("Transformers", 0), ("hone", 1)):
                got = [run[side][1] for run in runs]
                print(f"{name}: mean {statistics.mean(got):.3f}, {min(got):.3f} to {max(got):.3f}")


main()
