"""Compares a model with the average that timm's ModelEmaV3 makes of the models of FOLDER's checkpoints: the first, then
DECAY average + (1 - DECAY) model for floats; integers and counts of batches are the last model's.
average_of_checkpoints.py FOLDER STEPS DECAY AVERAGED"""
import sys

from weights import numbers

folder, steps, decay, averaged = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), numbers(sys.argv[4] + "/model.safetensors")
average = None
for step in range(1, steps + 1):
    model = numbers(f"{folder}/checkpoint-{step}/model.safetensors")
    if average is None:
        average = {n: list(v) for n, v in model.items()}
        continue
    for n, v in model.items():
        counts = v.typecode == "q" or n.endswith("num_batches_tracked")
        average[n] = list(v) if counts else [decay * a + (1 - decay) * x for a, x in zip(average[n], v)]
assert average.keys() == averaged.keys()
others = [n for n, v in averaged.items() if max(abs(a - b) for a, b in zip(average[n], v)) > 1e-5]
moved = [n for n, v in averaged.items() if n.endswith("running_mean") and list(v) != list(model[n])]
assert moved, "no running statistic is averaged"
print("the average of timm:", len(others), "others", *others[:3])
