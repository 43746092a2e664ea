# Loads a folder by Transformers, refuses missing and unknown weights, and writes the loss of rows of ids and every
# gradient, under the names of the folder:  peer_gradients.py FOLDER "5 6 7; 8 9" OUTPUT
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from saved_names import saved_parts  # noqa: E402

model, info = AutoModelForCausalLM.from_pretrained(sys.argv[1], attn_implementation="eager", dtype=torch.float32,
                                                   experts_implementation="eager", output_loading_info=True)
for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
    if info[kind]:
        sys.exit(f"{kind}: {sorted(info[kind])}")
rows = [[int(i) for i in row.split()] for row in sys.argv[2].split(";")]
loss = 0
for row in rows:
    ids = torch.tensor([row])
    logits = model.eval()(input_ids=ids, use_cache=False).logits[0]
    loss = loss + torch.nn.functional.cross_entropy(logits[:-1], ids[0, 1:], reduction="sum")
loss = loss / sum(len(row) - 1 for row in rows)
loss.backward()
named = {"loss": loss.detach().reshape(1)}
for name, parameter in model.named_parameters():
    for saved, part in saved_parts(model.config.model_type, name, parameter.grad):
        named["grad." + saved] = part.contiguous()
save_file(named, sys.argv[3])
