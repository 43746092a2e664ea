"""same_results.py A B   whether two runs have the same eval_results.json, times left out."""
import json
import sys


def results(folder):
    with open(folder + "/eval_results.json", encoding="utf-8") as f:
        return [(k, v) for k, v in json.load(f).items() if "per_second" not in k and "runtime" not in k]


a, b = map(results, sys.argv[1:])
print("same" if a == b else (a, b))
