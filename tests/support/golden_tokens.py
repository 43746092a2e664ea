"""golden_tokens.py GOLDEN N   {"tokens": the ids of its first N sources and targets}."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    golden = json.load(f)
n = int(sys.argv[2])
print(json.dumps({"tokens": sum(map(len, golden["sources"][:n] + golden["targets"][:n]))}))
