"""A trained folder in Transformers: AutoModelForImageClassification gives the probabilities that hone predicted, on the pixels of
AutoImageProcessor (which of a ViT resizes to the exact size, as hone does)."""
import sys

import torch
from PIL import Image
from transformers import AutoImageProcessor, AutoModelForImageClassification

folder, predictions = sys.argv[1:3]
model = AutoModelForImageClassification.from_pretrained(folder).eval()
processor = AutoImageProcessor.from_pretrained(folder, backend="pil")
for line in open(predictions).read().splitlines()[1:]:
    name, label, probability = line.split("\t")
    pixels = processor(Image.open(name).convert("RGB"), return_tensors="pt")
    with torch.no_grad():
        shares = model(**pixels).logits.softmax(-1)[0]
    best = int(shares.argmax())
    assert model.config.id2label[best] == label, (name, label, shares)
    assert abs(float(shares[best]) - float(probability)) < 1e-3, (name, probability, shares)
print("the same in Transformers")
