"""Whether the weights of two folders of models differ by at most a bound:  close_tensors.py FIRST SECOND BOUND"""
import array
import json
import struct
import sys


def tensors(folder):
    with open(folder + "/model.safetensors", "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    header.pop("__metadata__", None)
    kinds = {"F32": "f", "I64": "q"}
    return {n: array.array(kinds[t["dtype"]], data[slice(*t["data_offsets"])]) for n, t in header.items()}


first, second = tensors(sys.argv[1]), tensors(sys.argv[2])
assert first.keys() == second.keys(), sorted(first.keys() ^ second.keys())
apart = {n: max(abs(a - b) for a, b in zip(v, second[n], strict=True)) for n, v in first.items()}
worst = max(apart, key=apart.get)
print("close" if apart[worst] <= float(sys.argv[3]) else f"{worst}: {apart[worst]}")
