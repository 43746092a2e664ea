"""Compares a model with the average that timm's ModelEmaV3 makes of the models of FOLDER's checkpoints: the first, then
DECAY average + (1 - DECAY) model for floats; integers and counts of batches are the last model's.
average_of_checkpoints.py FOLDER STEPS DECAY AVERAGED"""
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


folder, steps, decay, averaged = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), tensors(sys.argv[4])
average = None
for step in range(1, steps + 1):
    model = tensors(f"{folder}/checkpoint-{step}")
    if average is None:
        average = {n: list(v) for n, v in model.items()}
        continue
    for n, v in model.items():
        counts = v.typecode == "q" or n.endswith("num_batches_tracked")
        average[n] = list(v) if counts else [decay * a + (1 - decay) * x for a, x in zip(average[n], v)]
assert average.keys() == averaged.keys()
others = [n for n, v in averaged.items() if max(abs(a - b) for a, b in zip(average[n], v)) > 1e-5]
moved = [n for n, v in averaged.items() if n.endswith("running_mean") and list(v) != list(model[n])]
assert moved, "no running statistic is averaged"
print("the average of timm:", len(others), "others", *others[:3])
