"""mlm_biases.py FILE   the names of the head's biases in a safetensors file, and how many different values they have."""
import json
import struct
import sys

with open(sys.argv[1], "rb") as f:
    header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    data = f.read()
biases = {k: header[k]["data_offsets"] for k in header
          if k.startswith("cls.predictions.") and k.endswith(("decoder.bias", "predictions.bias"))}
print(sorted(biases), len({data[first:end] for first, end in biases.values()}))
