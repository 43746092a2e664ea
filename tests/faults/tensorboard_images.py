#!/usr/bin/env python3
# nightly: --install
"""Images and embeddings of a run, read by TensorBoard: its event accumulator, and its server with the dashboards IMAGES, TEXT
and PROJECTOR.

    tests/faults/tensorboard_images.py --hone build/hone [--install]

TensorBoard lives where the peers of reporter_peers.py do. Without it the test is skipped.
"""
import os
import subprocess
import sys

from kill_resume import SOURCE
from reporter_peers import run_peer
from tensorboard_peers import in_folder, tensorboard

GOLDENS = os.path.join(SOURCE, "tests", "goldens")
FLAGS = ["--task", "image_classification", "--model_name_or_path", os.path.join(GOLDENS, "image_models", "vit"), "--dataset_name",
         os.path.join(GOLDENS, "image_folder"), "--do_train", "--do_eval", "--per_device_train_batch_size", "4", "--max_steps", "4",
         "--logging_steps", "2", "--save_strategy", "no", "--report_to", "tensorboard", "--log_images", "3", "--log_embeddings", "6",
         "--threads", "2"]

EVENTS = r'''
import struct, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util
events = EventAccumulator(sys.argv[1], size_guidance={"images": 0, "tensors": 0})
events.Reload()
tags = events.Tags()
train = [t for t in tags["images"] if t.startswith("train_images/")]
wrong = [t for t in tags["images"] if t.startswith("wrong_predictions/")]
assert sorted(train) == ["train_images/1", "train_images/2", "train_images/3"] and 1 <= len(wrong) <= 3, tags
for tag in train + wrong:
    image = events.Images(tag)[0]
    assert (image.width, image.height) == (12, 12) and image.encoded_image_string[:8] == b"\x89PNG\r\n\x1a\n", image
    assert struct.unpack(">II", image.encoded_image_string[16:24]) == (12, 12), image
assert [e.step for e in events.Images(train[0])] == [2] and [e.step for e in events.Images(wrong[0])] == [4]
for name, rows in ("train_images", 3), ("wrong_predictions", len(wrong)):
    table = tensor_util.make_ndarray(events.Tensors(name + "/text_summary")[0].tensor_proto)[0].decode()
    assert len(table.splitlines()) == rows + 2, table
print(f"events: {len(train)} and {len(wrong)} images")
'''

SERVER = r'''
import gzip, json, struct, sys, time, urllib.parse, urllib.request
here = f"http://127.0.0.1:{sys.argv[1]}"
open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open

def get(path, **query):
    got = open_url(f"{here}/data/{path}?{urllib.parse.urlencode(query)}", timeout=60).read()
    return gzip.decompress(got) if got[:2] == b"\x1f\x8b" else got

for _ in range(240):
    tags = json.loads(get("plugin/images/tags")).get("run", {})
    runs = json.loads(get("plugin/projector/runs"))
    if "wrong_predictions/1" in tags and runs:
        break
    time.sleep(0.5)
assert {"train_images/1", "wrong_predictions/1"} <= set(tags), tags
shown, = json.loads(get("plugin/images/images", run="run", tag="train_images/1", sample=0))
assert shown["step"] == 2, shown
with open_url(f"{here}/data/plugin/images/individualImage?{shown['query']}", timeout=60) as f:
    assert f.read(8) == b"\x89PNG\r\n\x1a\n"
text = json.loads(get("plugin/text/text", run="run", tag="wrong_predictions/text_summary"))
assert "<table>" in text[0]["text"] and "probability" in text[0]["text"], text
assert runs == ["run"], runs
(of,) = json.loads(get("plugin/projector/info", run="run"))["embeddings"]
assert of["tensorName"] == "eval/features" and of["tensorShape"] == [6, 16] and of["sprite"]["singleImageDim"] == [64, 64], of
tensor = get("plugin/projector/tensor", run="run", name="eval/features")
values = struct.unpack(f"<{len(tensor) // 4}f", tensor)
assert len(values) == 96 and any(values), len(values)
head, *rows = get("plugin/projector/metadata", run="run", name="eval/features").decode().splitlines()
assert head.split("\t") == ["label", "prediction", "probability", "image"] and len(rows) == 6, (head, rows)
assert {r.split("\t")[0] for r in rows} == {"cat", "dog", "owl"}, rows
sprite = get("plugin/projector/sprite_image", run="run", name="eval/features")
assert struct.unpack(">II", sprite[16:24]) == (192, 192), sprite[:24]
print("server: images, text, projector")
'''


def check(hone, folder, environment):
    done = subprocess.run([hone, "train", *FLAGS, "--output_dir", "out", "--logging_dir", "logs/run"],
                          cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"hone train ended with {done.returncode}\n{done.stderr[-4000:]}")
    run_peer(EVENTS, folder, environment, "logs/run")
    with tensorboard(folder, environment) as port:
        run_peer(SERVER, folder, environment, str(port))


if __name__ == "__main__":
    sys.exit(in_folder(__doc__, check))
