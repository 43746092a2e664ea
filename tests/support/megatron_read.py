"""megatron_read.py PREFIX   the sequences of PREFIX.bin and PREFIX.idx, a line of ids each, and their type.
megatron_read.py --write PREFIX TYPE   writes the lines of ids from standard input; a blank line ends a document.

Reads and writes the layout of Megatron-LM's MMapIndexedDataset with struct alone."""
import struct
import sys

MAGIC = b"MMIDIDX\x00\x00"
TYPES = {1: "B", 2: "b", 3: "h", 4: "i", 5: "q", 8: "H"}


def read(prefix):
    with open(prefix + ".idx", "rb") as f:
        idx = f.read()
    with open(prefix + ".bin", "rb") as f:
        ids = f.read()
    assert idx[:9] == MAGIC
    version, code, sequences, documents = struct.unpack_from("<QBQQ", idx, 9)
    assert version == 1
    at = 34
    lengths = struct.unpack_from(f"<{sequences}i", idx, at)
    at += 4 * sequences
    places = struct.unpack_from(f"<{sequences}q", idx, at)
    at += 8 * sequences
    ends = struct.unpack_from(f"<{documents}q", idx, at)
    assert at + 8 * documents == len(idx)
    assert ends[0] == 0 and ends[-1] == sequences and list(ends) == sorted(ends)
    kind = TYPES[code]
    print(f"{kind} {sequences} sequences {documents - 1} documents")
    for length, place in zip(lengths, places):
        print(*struct.unpack_from(f"<{length}{kind}", ids, place))


def write(prefix, kind):
    lengths, places, ends, at = [], [], [0], 0
    with open(prefix + ".bin", "wb") as f:
        for line in sys.stdin:
            ids = [int(word) for word in line.split()]
            if not ids:
                ends.append(len(lengths))
                continue
            lengths.append(len(ids))
            places.append(at)
            at += f.write(struct.pack(f"<{len(ids)}{kind}", *ids))
    if ends[-1] != len(lengths):
        ends.append(len(lengths))
    code = next(c for c, k in TYPES.items() if k == kind)
    with open(prefix + ".idx", "wb") as f:
        f.write(MAGIC + struct.pack("<QBQQ", 1, code, len(lengths), len(ends)))
        f.write(struct.pack(f"<{len(lengths)}i{len(lengths)}q{len(ends)}q", *lengths, *places, *ends))


if sys.argv[1] == "--write":
    write(*sys.argv[2:])
else:
    read(sys.argv[1])
