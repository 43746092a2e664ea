# Compares the loss and the gradients of two traces (safetensors of f32):  close_gradients.py FIRST SECOND TOLERANCE
# Each gradient may differ by at most TOLERANCE of its largest magnitude, or of the largest of its layer's weight.
import json, struct, sys


def tensors(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    header.pop("__metadata__", None)
    return {n: struct.unpack(f"<{(t['data_offsets'][1] - t['data_offsets'][0]) // 4}f", data[slice(*t["data_offsets"])])
            for n, t in header.items() if n == "loss" or n.startswith("grad.")}


first, second = tensors(sys.argv[1]), tensors(sys.argv[2])
if first.keys() != second.keys():
    sys.exit(f"other names: {sorted(first.keys() ^ second.keys())[:4]}")
worst = ""
for name, values in first.items():
    most = max(abs(x) for x in values + first.get(name.replace(".bias", ".weight"), ()) if name != "loss") \
        if name != "loss" else abs(values[0])
    apart = max(abs(a - b) for a, b in zip(values, second[name]))
    if apart > float(sys.argv[3]) * max(most, 1e-4):
        worst = f"{name} differs by {apart:.2e} of {most:.2e}"
print(worst or "agrees")
