# Prints how many tensors a safetensors file holds.
import sys

from weights import tensors

print(len(tensors(sys.argv[1])))
