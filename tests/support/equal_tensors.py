# Prints how many tensors of a safetensors file, outside those whose names begin with PREFIX, have the same bytes in
# another, and how many of those with it have not:  equal_tensors.py FIRST SECOND PREFIX
import sys

from weights import tensors

first, second = tensors(sys.argv[1]), tensors(sys.argv[2])
if first.keys() != second.keys():
    sys.exit(f"other names: {sorted(first.keys() ^ second.keys())}")
inside = [n for n in first if n.startswith(sys.argv[3])]
outside = [n for n in first if n not in inside]
print("equal", sum(first[n] == second[n] for n in outside), "of", len(outside), "others; changed",
      sum(first[n] != second[n] for n in inside), "of", len(inside))
