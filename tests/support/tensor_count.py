# Prints how many tensors a safetensors file holds.
import json, struct, sys
with open(sys.argv[1], "rb") as f:
    header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
print(len([name for name in header if name != "__metadata__"]))
