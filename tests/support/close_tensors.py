"""Whether the weights of two folders of models differ by at most a bound:  close_tensors.py FIRST SECOND BOUND"""
import sys

from weights import numbers

first, second = (numbers(folder + "/model.safetensors") for folder in sys.argv[1:3])
assert first.keys() == second.keys(), sorted(first.keys() ^ second.keys())
apart = {n: max(abs(a - b) for a, b in zip(v, second[n], strict=True)) for n, v in first.items()}
worst = max(apart, key=apart.get)
print("close" if apart[worst] <= float(sys.argv[3]) else f"{worst}: {apart[worst]}")
