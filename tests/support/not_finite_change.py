import json, shutil, struct, sys
# SOURCE FOLDER TENSOR VALUE COUNT [FIRST]: a copy of the model, in which COUNT values from number FIRST on are VALUE
source, folder, name, value, count = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), int(sys.argv[5])
first = int(sys.argv[6]) if len(sys.argv) > 6 else 0
shutil.copytree(source, folder)
with open(folder + "/model.safetensors", "r+b") as f:
    size = struct.unpack("<Q", f.read(8))[0]
    tensor = json.loads(f.read(size))[name]
    one = struct.pack("<f", value)[2 if tensor["dtype"] == "BF16" else 0:]
    f.seek(8 + size + tensor["data_offsets"][0] + first * len(one))
    f.write(one * count)
