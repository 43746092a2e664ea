"""A file of predictions against tools/golden_image_folder.py, whose rows are the validation images."""
import json
import sys

golden = json.load(open(sys.argv[1] + "/golden.json"))
lines = [line.split("\t") for line in open(sys.argv[2]).read().splitlines()]
assert lines[0] == ["image", "prediction", "probability"], lines[0]
assert [line[1] for line in lines[1:]] == golden["predictions"], lines
for line, wanted in zip(lines[1:], golden["probabilities"]):
    assert abs(float(line[2]) - wanted) <= 1e-4, (line, wanted)
print("same predictions")
