#!/usr/bin/env python3
"""Makes tests/goldens/pickle: one value in every protocol of Python's pickle."""
import collections
import pathlib
import pickle
import pickletools

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/goldens/pickle"


def value():
    shared = ["a", "é", "\U0001f600 \\u0041\n", ""]
    return {
        "none": None,
        "flags": (True, False),
        "ints": [0, 255, 256, 65536, -1, 2**31, -(2**31), 2**62, -(2**63), 2**63, -(2**70)],
        "floats": [0.5, -1e300, float("inf")],
        "bytes": [b"", b"\x00\xff\x80'\n", bytes(range(256))],
        "bytearray": [bytearray(b""), bytearray(b"ab\xfe")],
        "shared": (shared, shared, ()),
        "long": "x" * 300,
        "ordered": collections.OrderedDict([("k", 1), (2, "v")]),
        "class": complex,
        "call": complex(1, -2),
    }


FOLDER.mkdir(parents=True, exist_ok=True)
for protocol in range(6):
    raw = pickle.dumps(value(), protocol=protocol)
    (FOLDER / f"protocol{protocol}.pkl").write_bytes(raw)
    assert pickle.loads(pickletools.optimize(raw)) == value()
