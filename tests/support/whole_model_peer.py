# Loads a folder of a model that also sees by Transformers, refuses missing and unknown weights, and prints the loss
# of its text model for the ids as JSON:  whole_model_peer.py FOLDER "5 6 7"
import json
import sys

import torch
from transformers import AutoModelForImageTextToText

model, info = AutoModelForImageTextToText.from_pretrained(sys.argv[1], output_loading_info=True, dtype=torch.float32)
for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
    if info[kind]:
        sys.exit(f"{kind}: {sorted(info[kind])}")
ids = torch.tensor([[int(i) for i in sys.argv[2].split()]])
with torch.no_grad():
    logits = model.eval()(input_ids=ids).logits[0].float()
print(json.dumps({"loss": torch.nn.functional.cross_entropy(logits[:-1], ids[0, 1:]).item()}))
