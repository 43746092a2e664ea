import json, struct, sys
for name in sys.argv[1:]:
    with open(name + "/checkpoint-4/optimizer.safetensors", "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    header.pop("__metadata__", None)
    print(name, sorted({k.split(".")[0] for k in header}), sum(b - a for a, b in (t["data_offsets"] for t in header.values())))
