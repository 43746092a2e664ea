# Prints the loss of a trace (hone graph --trace) as JSON.
import json, struct, sys
with open(sys.argv[1], "rb") as f:
    header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    data = f.read()
print(json.dumps({"loss": struct.unpack("<f", data[slice(*header["loss"]["data_offsets"])])[0]}))
