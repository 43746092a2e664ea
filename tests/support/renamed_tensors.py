"""renamed_tensors.py FROM TO [OLD NEW ...]   FROM/model.safetensors in TO, with OLD in each tensor's name replaced by NEW."""
import json
import struct
import sys

from weights import read

source, target, *pairs = sys.argv[1:]
header, data = read(f"{source}/model.safetensors")
for old, new in zip(pairs[::2], pairs[1::2]):
    header = {name.replace(old, new): value for name, value in header.items()}
text = json.dumps(header).encode()
with open(f"{target}/model.safetensors", "wb") as f:
    f.write(struct.pack("<Q", len(text)) + text + data)
