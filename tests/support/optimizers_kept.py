import sys

from weights import tensors

for name in sys.argv[1:]:
    kept = tensors(name + "/checkpoint-4/optimizer.safetensors")
    print(name, sorted({k.split(".")[0] for k in kept}), sum(len(data) for _, _, data in kept.values()))
