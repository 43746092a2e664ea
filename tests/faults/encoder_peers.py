#!/usr/bin/env python3
# nightly: --install
"""Folders that hone writes of tiny encoders, opened by Transformers: the logits must be those of the goldens.

    tests/faults/encoder_peers.py --hone build/hone [--install] [--only deberta]

Each folder of tests/goldens/encoders goes through `hone convert`; Transformers must use every tensor of the result and miss
none. The peer is the Python that HONE_VENV_PYTHON names, else that of build/bench-venv; --install makes it. Without it the
test is skipped.
"""
import argparse
import os
import subprocess
import sys
import tempfile

from kill_resume import SOURCE
from ranks_peers import peer_python

GOLDENS = os.path.join(SOURCE, "tests", "goldens", "encoders")

PEER = """
import inspect, json, os, sys
import torch, transformers
from safetensors.torch import load_file
transformers.logging.set_verbosity_error()
for name in sys.argv[3:]:
    folder, golden = os.path.join(sys.argv[1], name), os.path.join(sys.argv[2], name)
    kind = getattr(transformers, json.load(open(os.path.join(folder, "config.json")))["architectures"][0])
    model, info = kind.from_pretrained(folder, output_loading_info=True, attn_implementation="eager")
    if info["missing_keys"] or info["unexpected_keys"] or info["mismatched_keys"]:
        print(name, "does not fit:", {k: sorted(map(str, v)) for k, v in info.items() if v})
        continue
    facts, want = json.load(open(os.path.join(golden, "golden.json"))), load_file(os.path.join(golden, "golden.safetensors"))
    takes_types = "token_type_ids" in inspect.signature(model.forward).parameters
    for i, row in enumerate(facts["sequences"]):
        inputs = dict(input_ids=torch.tensor([row]))
        if takes_types:
            inputs["token_type_ids"] = torch.tensor([facts["token_types"][i]])
        with torch.no_grad():
            apart = (model.eval()(**inputs).logits[0] - want[f"logits.{i}"]).abs().max().item()
        if apart > 1e-5:
            print(name, "sequence", i, "logits differ by", apart)
print("compared", len(sys.argv) - 3)
"""


def compare(goldens, peer):
    """hone convert of each folder of goldens, then the peer's program on the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--hone", required=True)
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    python = peer_python(args.install)
    if not python:
        return 77
    names = sorted(n for n in os.listdir(goldens) if n.startswith(args.only))
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            subprocess.run([args.hone, "convert", os.path.join(goldens, name), os.path.join(folder, name)], check=True,
                           capture_output=True)
        r = subprocess.run([python, "-c", peer, folder, goldens, *names], capture_output=True, text=True,
                           env=dict(os.environ, OMP_NUM_THREADS="1"))
    print(r.stdout, end="")
    if r.returncode:
        print(r.stderr)
    return 0 if r.returncode == 0 and r.stdout == f"compared {len(names)}\n" else 1


if __name__ == "__main__":
    sys.exit(compare(GOLDENS, PEER))
