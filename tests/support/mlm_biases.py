"""mlm_biases.py FILE   the names of the head's biases in a safetensors file, and how many different values they have."""
import sys

from weights import tensors

biases = {k: data for k, (_, _, data) in tensors(sys.argv[1]).items()
          if k.startswith("cls.predictions.") and k.endswith(("decoder.bias", "predictions.bias"))}
print(sorted(biases), len(set(biases.values())))
