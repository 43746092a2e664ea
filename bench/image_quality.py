#!/usr/bin/env python3
"""Images of shared/data with a small ResNet or ViT: hone beside Transformers and torchvision.

    --data cifar10    2,000 images of 32 pixels to learn and 500 to evaluate, 10 classes
    --data mnist      2,000 digits of 28 pixels, and 500
    --data imagenet   115 photographs, one in five to evaluate: animals or not, 64 pixels
    --model thin      a pretrained ResNet-50 of half the width, with a new head, on the photographs at 224 pixels

The same first weights on both sides. `--equal`: the same pixels and order too (no random change, no shuffle), so the losses
of every step and the accuracy must agree. Else both train with random crops and flips, `--seeds` runs each, and the
mean accuracies are shown with their ranges. It needs torchvision and Transformers, so it is not among those of `run.sh`.
"""
import argparse
import gzip
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

import torch
from PIL import Image
from safetensors.torch import load_file
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2
from transformers import ResNetConfig, ResNetForImageClassification, ViTConfig, ViTForImageClassification

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = pathlib.Path(os.environ.get("HONE_DATA", ROOT.parent / "shared" / "data"))
MEAN, STD = [0.5] * 3, [0.5] * 3
SIDES = {"cifar10": 32, "mnist": 28, "imagenet": 64}


def mnist(folder):
    pixels, labels = (gzip.open(SHARED / "img-mnist-t10k" / f"t10k-{n}-ubyte.gz").read() for n in ("images.idx3", "labels.idx1"))
    for i in range(2500):
        to = folder / ("train" if i < 2000 else "val") / str(labels[8 + i])
        to.mkdir(parents=True, exist_ok=True)
        Image.frombytes("L", (28, 28), pixels[16 + 784 * i:16 + 784 * (i + 1)]).save(to / f"{i:04}.png")


def photographs(folder):
    for i, file in enumerate(sorted((SHARED / "img-imagenet-sample").glob("*.JPEG"))):
        to = folder / ("val" if i % 5 == 0 else "train") / ("animal" if file.name < "n026" else "thing")
        to.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, to)


def data_of(name, temporary):
    if name == "cifar10":
        return SHARED / "img-cifar10-2500"
    folder = pathlib.Path(temporary) / name
    (mnist if name == "mnist" else photographs)(folder)
    return folder


def thin_resnet(labels):
    """Under Transformers' names; the file has torchvision's."""
    folder = SHARED / "w-resnet50thin-opennsfw"
    model = ResNetForImageClassification(ResNetConfig.from_pretrained(folder, **labels))
    inner = [(r"^conv1", "embedder.embedder.convolution"), (r"^bn1", "embedder.embedder.normalization"),
             (r"^layer(\d)", lambda m: f"encoder.stages.{int(m[1]) - 1}.layers"),
             (r"\.conv(\d)", lambda m: f".layer.{int(m[1]) - 1}.convolution"), (r"\.bn(\d)", lambda m: f".layer.{int(m[1]) - 1}.normalization"),
             (r"downsample\.0", "shortcut.convolution"), (r"downsample\.1", "shortcut.normalization")]
    weights = {}
    for name, tensor in load_file(folder / "model.safetensors").items():
        for pattern, to in inner:
            name = re.sub(pattern, to, name)
        if not name.startswith("fc."):
            weights["resnet." + name] = tensor
    missing, unexpected = model.load_state_dict(weights, strict=False)
    assert not unexpected and all(n.startswith("classifier.") or n.endswith("num_batches_tracked") for n in missing), (missing, unexpected)
    return model


def new_model(kind, data, side, folder):
    torch.manual_seed(0)
    names = sorted(p.name for p in (data / "train").iterdir())
    labels = {"id2label": dict(enumerate(names)), "label2id": {n: i for i, n in enumerate(names)}}
    if kind == "thin":
        model = thin_resnet(labels)
    elif kind == "resnet":
        model = ResNetForImageClassification(ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 64], depths=[1, 1, 1],
                                                          layer_type="basic", **labels))
    else:
        model = ViTForImageClassification(ViTConfig(hidden_size=64, num_hidden_layers=4, num_attention_heads=4, intermediate_size=128,
                                                    image_size=side, patch_size=4, **labels))
    model.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(
        {"image_processor_type": "ViTImageProcessor", "size": {"height": side, "width": side}, "image_mean": MEAN, "image_std": STD}))


def evaluate(model, rows):
    model.eval()
    right = 0
    with torch.no_grad():
        for pixels, labels in torch.utils.data.DataLoader(rows, 100):
            right += int((model(pixel_values=pixels).logits.argmax(-1) == labels).sum())
    return right / len(rows)


def run_peer(folder, o, seed):
    torch.manual_seed(seed)
    side = (o.side, o.side)
    end = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    plain = v2.Compose([v2.Resize(side), v2.CenterCrop(side), *end])
    random = v2.Compose([v2.RandomResizedCrop(o.side), v2.RandomHorizontalFlip(), *end])
    train = ImageFolder(o.folder / "train", plain if o.equal else random)
    model = (ViTForImageClassification if o.model == "vit" else ResNetForImageClassification).from_pretrained(folder)
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
    return losses, evaluate(model, ImageFolder(o.folder / "val", plain)), seconds


def run_hone(folder, o, seed, out):
    plain = ["--random_resized_crop", "false", "--random_flip", "0", "--shuffle", "false"] if o.equal else []
    done = subprocess.run(
        [o.hone, "train", "--task", "image_classification", "--model_name_or_path", str(folder), "--dataset_name", str(o.folder), "--do_train",
         "--do_eval", "--output_dir", str(out), "--num_train_epochs", str(o.epochs), "--per_device_train_batch_size", str(o.batch),
         "--per_device_eval_batch_size", "100", "--learning_rate", str(o.rate), "--weight_decay", "0.01", "--lr_scheduler_type",
         "constant", "--apply_exif_orientation", "false", "--max_grad_norm", "0", "--logging_steps", "1", "--save_strategy", "no", "--seed", str(seed), *plain],
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
    parser.add_argument("--model", choices=["resnet", "vit", "thin"], default="resnet")
    parser.add_argument("--data", choices=list(SIDES), default="cifar10")
    parser.add_argument("--equal", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=1e-3)
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        o.data = "imagenet" if o.model == "thin" else o.data
        o.side = 224 if o.model == "thin" else SIDES[o.data]
        o.folder = data_of(o.data, temporary)
        folder = pathlib.Path(temporary) / "model"
        new_model(o.model, o.folder, o.side, folder)
        runs = []
        for seed in range(1 if o.equal else o.seeds):
            runs.append((run_peer(folder, o, seed), run_hone(folder, o, seed, pathlib.Path(temporary) / f"out{seed}")))
        for (theirs, their_accuracy, their_seconds), (ours, our_accuracy, our_seconds) in runs:
            apart = [abs(a - b) for a, b in zip(theirs, ours)]
            print(f"Transformers {their_accuracy:.3f} in {their_seconds:.1f} s, hone {our_accuracy:.3f} in {our_seconds:.1f} s; "
                  f"{len(ours)} and {len(theirs)} losses, at most {max(apart):.2e} apart, "
                  f"the first {apart[0]:.2e}, the first twenty {max(apart[:20]):.2e}")
        if not o.equal:
            for name, side in (("Transformers", 0), ("hone", 1)):
                got = [run[side][1] for run in runs]
                print(f"{name}: mean {statistics.mean(got):.3f}, {min(got):.3f} to {max(got):.3f}")


main()
