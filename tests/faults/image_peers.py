#!/usr/bin/env python3
# nightly: --install
"""Folders that hone writes of tiny models of images, opened by Transformers, timm and torchvision: the logits must be those of the goldens.

    tests/faults/image_peers.py --hone build/hone [--install] [--only swin]

As encoder_peers.py, for tests/goldens/image_models. The peer's Python needs timm and torchvision too.
"""
import os
import sys

from encoder_peers import compare
from kill_resume import SOURCE

TOOLS = os.path.join(SOURCE, "tools")

PEER = f"import sys\nsys.path.insert(0, {TOOLS!r})\n" + """
import json, os
import timm, torch, transformers
from image_models import pixels, torchvision_model
from safetensors.torch import load_file
transformers.logging.set_verbosity_error()

def opened(folder):
    config = json.load(open(os.path.join(folder, "config.json")))
    if "architecture" in config:  # refuses tensors that are missing or not known
        return timm.create_model("local-dir:" + folder, pretrained=True), 3
    if os.path.basename(folder).startswith("torchvision"):
        model = torchvision_model(config)
        model.load_state_dict(load_file(os.path.join(folder, "model.safetensors")))  # every tensor
        return model, 3
    kind = getattr(transformers, config["architectures"][0])
    model, info = kind.from_pretrained(folder, output_loading_info=True, attn_implementation="eager")
    if info["missing_keys"] or info["unexpected_keys"] or info["mismatched_keys"]:
        print(folder, "does not fit:", {k: sorted(map(str, v)) for k, v in info.items() if v})
    return model, config.get("num_channels", 3)

for name in sys.argv[3:]:
    golden = os.path.join(sys.argv[2], name)
    facts, want = json.load(open(os.path.join(golden, "golden.json"))), load_file(os.path.join(golden, "golden.safetensors"))
    model, channels = opened(os.path.join(sys.argv[1], name))
    more = dict(interpolate_pos_encoding=True) if getattr(model, "base_model_prefix", "") == "deit" else {}
    with torch.no_grad():
        got = model.eval()(pixels(range(len(facts["labels"])), *facts["image"], channels), **more)
    apart = ((got if torch.is_tensor(got) else got.logits) - want["logits"]).abs().max().item()
    if apart > 1e-5 * max(1, want["logits"].abs().max().item()):
        print(name, "logits differ by", apart)
print("compared", len(sys.argv) - 3)
"""

if __name__ == "__main__":
    sys.exit(compare(os.path.join(SOURCE, "tests", "goldens", "image_models"), PEER))
