# Prints the loss of a trace (hone graph --trace) as JSON.
import json
import struct
import sys

from weights import tensors

print(json.dumps({"loss": struct.unpack("<f", tensors(sys.argv[1])["loss"][2])[0]}))
