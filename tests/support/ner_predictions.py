import json, sys
wanted = json.load(open(sys.argv[1] + "/golden.json"))["predictions"]
got = open(sys.argv[2] + "/predictions.txt", encoding="utf-8").read().split("\n")[:-1]
assert got == wanted, (got, wanted)
print("same predictions")
