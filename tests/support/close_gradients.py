# Compares the loss and the gradients of two traces (safetensors of f32):  close_gradients.py FIRST SECOND TOLERANCE
# Each gradient may differ by at most TOLERANCE of its largest magnitude, or of the largest of its layer's weight.
import array
import sys

from weights import tensors


def gradients(path):
    return {n: array.array("f", data) for n, (_, _, data) in tensors(path).items() if n == "loss" or n.startswith("grad.")}


first, second = gradients(sys.argv[1]), gradients(sys.argv[2])
if first.keys() != second.keys():
    sys.exit(f"other names: {sorted(first.keys() ^ second.keys())[:4]}")
worst = ""
for name, values in first.items():
    most = max(abs(x) for x in values + first.get(name.replace(".bias", ".weight"), array.array("f")) if name != "loss") \
        if name != "loss" else abs(values[0])
    apart = max(abs(a - b) for a, b in zip(values, second[name]))
    if apart > float(sys.argv[3]) * max(most, 1e-4):
        worst = f"{name} differs by {apart:.2e} of {most:.2e}"
print(worst or "agrees")
