"""Reads safetensors files without a package, for the programs of this folder."""
import array
import json
import struct


def read(path):
    """The header as it is in the file, and the bytes that its offsets count in."""
    with open(path, "rb") as f:
        return json.loads(f.read(struct.unpack("<Q", f.read(8))[0])), f.read()


def tensors(path):
    """(dtype, shape, bytes) of each tensor by name."""
    header, data = read(path)
    return {n: (t["dtype"], t["shape"], data[slice(*t["data_offsets"])]) for n, t in header.items() if n != "__metadata__"}


def numbers(path):
    """The elements of each tensor by name, as a flat array; F32 and I64 are known."""
    return {n: array.array({"F32": "f", "I64": "q"}[dtype], data) for n, (dtype, _, data) in tensors(path).items()}
