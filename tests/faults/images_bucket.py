#!/usr/bin/env python3
# nightly: --kills 200
"""Trains on images of a bucket (tools/fake_buckets.py) while the run is killed and the store fails: the weights are those of
a run on a disk that was left alone. Truncated downloads are named.

    tests/faults/images_bucket.py --hone build/hone [--kills 3] [--seed N]
    tests/faults/images_bucket.py --hone build/hone --measure 20000     prints the share of the time that waits for images
"""
import argparse
import atexit
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from bucket import start_bucket  # noqa: E402
from kills import run_with_kills  # noqa: E402

GOLDENS = os.path.join(SOURCE, "tests", "goldens")
DATA = os.environ.get("HONE_DATA", os.path.join(SOURCE, "..", "shared", "data"))
STEPS = 12


def start_store(folder, bucket):
    os.environ["HONE_CACHE"] = os.path.join(folder, "cache")
    return start_bucket("gs://" + bucket)[1]


def command(hone, out, *data):
    return [hone, "train", "--task", "image_classification", "--model_name_or_path", os.path.join(GOLDENS, "image_models", "vit"),
            "--do_train", "--max_steps", str(STEPS), "--per_device_train_batch_size", "4", "--learning_rate", "0.001", "--save_steps", "2",
            "--save_total_limit", "2", "--augment_policy", "randaugment", "--logging_steps", "1", "--threads", "2", "--output_dir", out, *data]


def weights(folder, out):
    with open(os.path.join(folder, out, "model.safetensors"), "rb") as f:
        return f.read()


def run(words, folder):
    return subprocess.run(words, cwd=folder, stderr=subprocess.PIPE, text=True)


def killed(hone, folder, address, rng, kills, faulty, data):
    """Runs until the run ends by itself, with faults of requests whose path has `faulty`; returns the kills and what went wrong."""
    def start():
        if rng.random() < 0.5:
            kind = rng.choice(["status", "reset", "cut", "short"])
            after = "&after=100" if kind in ("cut", "short") else ""
            urllib.request.urlopen(f"{address}/_fault?kind={kind}&match={faulty}&method=GET&count={rng.randint(1, 2)}{after}").read()
        return subprocess.Popen(command(hone, "killed", *data), cwd=folder, stderr=subprocess.PIPE, text=True)

    return run_with_kills(start, kills, lambda: rng.uniform(0.05, 0.9))


def check(hone, folder, address, options):
    rng = random.Random(options.seed)
    train = os.path.join(GOLDENS, "image_folder", "train")
    with tarfile.open(os.path.join(folder, "web.tar"), "w") as tar:
        for name in sorted(os.listdir(train)):
            with open(os.path.join(folder, "label.cls"), "w") as f:
                f.write(name)
            for image in sorted(os.listdir(os.path.join(train, name))):
                stem, ending = os.path.splitext(image)
                tar.add(os.path.join(train, name, image), f"{name}{stem}{ending}")
                tar.add(os.path.join(folder, "label.cls"), f"{name}{stem}.cls")
    run([hone, "store", "cp", "--recursive", train, "gs://b/data/train"], folder).check_returncode()
    run([hone, "store", "cp", "web.tar", "gs://b/data/web.tar"], folder).check_returncode()
    alone = run(command(hone, "alone", "--train_dir", train), folder)
    if alone.returncode != 0:
        print(alone.stderr)
        return 1
    for form, faulty, data in (("folder", "jpg", ["--train_dir", "gs://b/data/train"]),
                               ("tar", "web.tar", ["--train_file", "gs://b/data/web.tar"])):
        kills = runs = 0
        while kills < (options.kills + 1) // 2:
            shutil.rmtree(os.path.join(folder, "killed"), True)
            more, wrong = killed(hone, folder, address, rng, (options.kills + 1) // 2 - kills, faulty, data)
            kills, runs = kills + more, runs + 1
            if wrong or weights(folder, "killed") != weights(folder, "alone"):
                print(f"{form}, {kills} kills: {wrong or 'other weights'}")
                return 1
        print(f"{form}: {kills} kills of {runs} runs, equal weights")
    # One image always ends too early.
    image = sorted(os.listdir(os.path.join(train, "dog")))[0]
    urllib.request.urlopen(f"{address}/_fault?kind=cut&match={image}&method=GET&count=100000&after=50").read()
    cut = run(command(hone, "cut", "--train_dir", "gs://b/data/train"), folder)
    if cut.returncode == 0 or image not in cut.stderr:
        print("a download that is always cut is not named:", cut.stderr[-1000:])
        return 1
    print("a truncated download is named")
    return 0


def measure(hone, folder, options):
    """Photographs, repeated until there are enough of them, at the size that models see."""
    photos = os.path.join(DATA, "img-imagenet-sample")
    names = [n for n in sorted(os.listdir(photos)) if n.endswith(".JPEG")] if os.path.isdir(photos) else []
    if not names:
        print(f"no photographs in {photos}")
        return 77
    for i in range(options.measure):
        name = names[i % len(names)]
        of_class = os.path.join(folder, "train", name.split("_")[0])
        os.makedirs(of_class, exist_ok=True)
        os.link(os.path.join(photos, name), os.path.join(of_class, f"{i}.JPEG")) if os.stat(photos).st_dev == os.stat(folder).st_dev \
            else shutil.copy(os.path.join(photos, name), os.path.join(of_class, f"{i}.JPEG"))
    run([hone, "store", "cp", "--recursive", "train", "gs://b/data/train"], folder).check_returncode()
    words = [hone, "train", "--task", "image_classification", "--config_name", os.path.join(folder, "resnet.json"), "--train_dir", "gs://b/data/train",
             "--do_train", "--max_steps", str(options.steps), "--per_device_train_batch_size", "16", "--image_size", "224", "--save_strategy", "no",
             "--output_dir", "measured"]
    with open(os.path.join(folder, "resnet.json"), "w") as f:
        json.dump({"model_type": "resnet", "architectures": ["ResNetForImageClassification"], "depths": [2, 2, 2, 2], "layer_type": "basic",
                   "hidden_sizes": [64, 128, 256, 512], "embedding_size": 64, "num_channels": 3, "hidden_act": "relu"}, f)
    done = run(words, folder)
    if done.returncode != 0:
        print(done.stderr)
        return 1
    with open(os.path.join(folder, "measured", "train_results.json")) as f:
        got = json.load(f)
    share = got["train_data_wait_seconds"] / got["train_runtime"]
    print(f"{options.measure} images in the bucket, ResNet-18, {got['train_samples_per_second']:.1f} images/s: "
          f"{100 * share:.2f} % of {got['train_runtime']:.1f} s waits for images")
    return 0 if share < 0.01 else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hone", required=True)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--measure", type=int, default=0)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    print("seed", options.seed)
    hone, folder = os.path.abspath(options.hone), tempfile.mkdtemp(prefix="images_bucket_")
    atexit.register(shutil.rmtree, folder, True)
    address = start_store(folder, "b")
    return measure(hone, folder, options) if options.measure else check(hone, folder, address, options)


if __name__ == "__main__":
    sys.exit(main())
