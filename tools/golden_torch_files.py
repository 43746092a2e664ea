#!/usr/bin/env python3
"""Makes tests/goldens/torch again: small files of torch.save, and the same tensors as safetensors.

Needs torch and safetensors. Bytes of the .bin files may differ from run to run (torch writes addresses into the
legacy ones); the tensors do not.
"""
import argparse
import collections
import json
import pathlib
import shutil

import torch
from safetensors.torch import load_file, save_file

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/goldens/torch"


def tensors():
    values = [0, 1, -2.5, 0.1, 1e-3, 65504, -0.0, 3.14159]
    t = collections.OrderedDict()
    for name in ("float64", "float32", "bfloat16", "float16"):
        t[name] = torch.tensor(values, dtype=getattr(torch, name)).reshape(2, 4)
    for name in ("int64", "int32", "int16", "int8", "uint8"):
        t[name] = torch.tensor([0, 1, 100, 127, 5], dtype=getattr(torch, name))
    t["bool"] = torch.tensor([True, False, True])
    base = torch.arange(24.0).reshape(2, 3, 4)
    t["whole"] = base
    t["transposed"] = base.permute(2, 0, 1)
    t["column"] = base[:, :, 1]
    t["row"] = base[1]  # a contiguous view with an offset
    t["expanded"] = torch.tensor([1.5, 2.5]).expand(3, 2)
    t["turned half"] = torch.tensor(values, dtype=torch.bfloat16).reshape(2, 4).t()
    t["parameter"] = torch.nn.Parameter(torch.tensor([[1.0, 2.0]]))
    t["scalar"] = torch.tensor(7.0)
    t["empty"] = torch.zeros(0, 3)
    return t


def save_both(value, stem):
    torch.save(value, FOLDER / f"{stem}.zip.bin")
    torch.save(value, FOLDER / f"{stem}.legacy.bin", _use_new_zipfile_serialization=False)


class Stranger:
    pass


shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir(parents=True)
torch.manual_seed(7)
t = tensors()
save_file({k: v.detach().clone().contiguous() for k, v in t.items()}, FOLDER / "tensors.safetensors")
save_both(t, "tensors")
for protocol in (3, 5):  # 2 is the default
    torch.save(t, FOLDER / f"tensors.legacy{protocol}.bin", _use_new_zipfile_serialization=False,
               pickle_protocol=protocol)
wrapped = {"epoch": 3, "args": argparse.Namespace(lr=0.1), "optimizer": {"state": {0: torch.ones(2, dtype=torch.int16)}},
           "model": {"w": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "version": 2, "note": None}}
save_both(wrapped, "wrapped")
torch.save({"state_dict": {"w": torch.ones(2)}, "uncommon": 1}, FOLDER / "nested.pt")
uncommon = {"u16": torch.tensor([7, 65535], dtype=torch.uint16), "c64": torch.tensor([1j]), "w": torch.ones(1),
            "attributes": torch.ones(2)}
uncommon["attributes"].note = "makes torch keep the tensor's dict"
torch.save(uncommon, FOLDER / "uncommon.bin")
torch.save({"w": torch.ones(2), "s": Stranger()}, FOLDER / "stranger.bin")
torch.save(torch.nn.Linear(1, 1), FOLDER / "module.bin")
torch.jit.script(torch.nn.Linear(1, 1)).save(FOLDER / "script.pt")
torch.save([torch.ones(1)], FOLDER / "list.bin")

# A whole model in half the size; a transcript converts it and compares with the folder it comes from.
tiny = load_file(FOLDER.parent / "models/gpt2_tiny/model.safetensors")
torch.save({k: v.half() for k, v in tiny.items()}, FOLDER / "gpt2_tiny.f16.bin",
           _use_new_zipfile_serialization=False)

# Shards beside an index, as Transformers' save_pretrained(safe_serialization=False) wrote them.
torch.save({"a": torch.tensor([1.0, 2.0])}, FOLDER / "pytorch_model-00001-of-00002.bin")
torch.save({"b": torch.tensor([3.0])}, FOLDER / "pytorch_model-00002-of-00002.bin")
index = {"metadata": {"total_size": 12}, "weight_map": {"a": "pytorch_model-00001-of-00002.bin",
                                                        "b": "pytorch_model-00002-of-00002.bin"}}
(FOLDER / "pytorch_model.bin.index.json").write_text(json.dumps(index, indent=2) + "\n")
for path in FOLDER.iterdir():
    path.chmod(0o644)
