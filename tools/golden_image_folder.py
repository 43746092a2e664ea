#!/usr/bin/env python3
"""A small folder of images, and what Transformers makes of it: ten losses, logits after them, accuracy.

tools/golden.sh runs it. The model is tests/goldens/image_models/vit; the transforms are those that
run_image_classification.py uses in evaluations (Resize, CenterCrop, ToTensor, Normalize), in order and without chance.
"""
import json
import pathlib
import shutil
import tempfile

import numpy as np
import torch
from datasets import ClassLabel, Dataset, Features
from datasets import Image as ImageFeature
from PIL import Image
from torchvision.datasets import ImageFolder
from torchvision.transforms import CenterCrop, Compose, Normalize, Resize, ToTensor
from transformers import ViTForImageClassification

GOLDENS = pathlib.Path(__file__).resolve().parent.parent / "tests/goldens"
FOLDER = GOLDENS / "image_folder"
CLASSES = ["cat", "dog", "owl"]
SIZE, BATCH, STEPS, RATE, DECAY = 12, 4, 10, 1e-3, 0.01


def picture(rng, label):
    """The colour tells the class, with noise."""
    width, height = rng.integers(14, 30, 2)
    a = rng.integers(0, 90, (height, width, 3))
    a[..., label] += rng.integers(60, 160)
    y = rng.integers(0, height - 4)
    a[y:y + 4] = 255 - a[y:y + 4]
    return Image.fromarray(a.astype(np.uint8))


def write(rng, split, count):
    for label, name in enumerate(CLASSES):
        folder = FOLDER / split / name
        folder.mkdir(parents=True, exist_ok=True)
        for i in range(count):
            image = picture(rng, label)
            kind = i % 3
            if kind == 0:
                image.save(folder / f"{i}.jpg", quality=90)
            elif kind == 1:
                image.save(folder / f"{i}.png")
            else:
                image.save(folder / f"{i}.JPEG", quality=60, subsampling=2, progressive=True)


def write_parquet():
    """The training rows as the `datasets` library keeps them: bytes and path, names of classes in the metadata."""
    features = Features({"image": ImageFeature(), "label": ClassLabel(names=CLASSES)})
    rows = [{"image": {"bytes": f.read_bytes(), "path": f.name}, "label": CLASSES.index(f.parent.name)}
            for name in CLASSES for f in sorted((FOLDER / "train" / name).iterdir())]
    data = Dataset.from_list(rows, features=features)
    data.to_parquet(FOLDER / "train.parquet")
    # An Arrow file as the library keeps it in its cache and in folders of save_to_disk.
    with tempfile.TemporaryDirectory() as folder:
        data.save_to_disk(folder)
        shutil.copy(next(pathlib.Path(folder).glob("*.arrow")), FOLDER / "train.arrow")


def rows(split):
    how = Compose([Resize((SIZE, SIZE)), CenterCrop((SIZE, SIZE)), ToTensor(), Normalize([0.5] * 3, [0.5] * 3)])
    data = ImageFolder(FOLDER / split, how)
    assert data.classes == CLASSES
    return torch.stack([x for x, _ in data]), torch.tensor([y for _, y in data])


def main():
    rng = np.random.default_rng(3)
    write(rng, "train", 6)
    write(rng, "validation", 3)
    write_parquet()
    torch.manual_seed(0)
    model = ViTForImageClassification.from_pretrained(GOLDENS / "image_models/vit")
    pixels, labels = rows("train")
    plain = [p for n, p in model.named_parameters() if n.endswith("bias") or "layernorm" in n]
    decayed = [p for n, p in model.named_parameters() if not (n.endswith("bias") or "layernorm" in n)]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": DECAY}, {"params": plain, "weight_decay": 0}], lr=RATE)
    losses, at = [], 0
    model.train()
    for _ in range(STEPS):
        loss = model(pixel_values=pixels[at:at + BATCH], labels=labels[at:at + BATCH]).loss
        at = at + BATCH if at + BATCH < len(labels) else 0
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    pixels, labels = rows("validation")
    with torch.no_grad():
        logits = model(pixel_values=pixels).logits
    result = {"losses": losses, "eval_loss": torch.nn.functional.cross_entropy(logits, labels).item(),
              "eval_accuracy": (logits.argmax(-1) == labels).double().mean().item(),
              "probabilities": logits.softmax(-1).max(-1).values.tolist(),
              "predictions": [CLASSES[i] for i in logits.argmax(-1).tolist()]}
    (FOLDER / "golden.json").write_text(json.dumps(result, indent=1) + "\n")


main()
