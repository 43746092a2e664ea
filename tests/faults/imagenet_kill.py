#!/usr/bin/env python3
# nightly: --kills 40
"""Kills hone prepare imagenet at random moments, and demands the bytes of a run that was left alone.

    tests/faults/imagenet_kill.py --hone build/hone [--kills 4] [--seed N]

A miniature of ILSVRC2012 is made: eight classes, 1,300 validation images. It is prepared as folders on disk, and as archives of
WebDataset in a bucket (tools/fake_buckets.py). A third of the kills are SIGTERM, after which the same command continues too.
"""
import argparse
import atexit
import io
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from bucket import start_bucket  # noqa: E402
from folders import differences  # noqa: E402
from kills import run_with_kills  # noqa: E402

IDS = [f"n0144{i:04}" for i in range(8)]


def archive(path, files, mode="w"):
    with tarfile.open(path, mode) as tar:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def miniature(folder):
    rng = random.Random(5)

    def image():
        return rng.randbytes(rng.randint(200, 1500))

    classes = []
    for name in IDS:
        path = os.path.join(folder, "class.tar")
        archive(path, [(f"{name}_{i}.JPEG", image()) for i in range(rng.randint(15, 30))])
        classes.append((name + ".tar", open(path, "rb").read()))
    archive(os.path.join(folder, "train.tar"), classes)
    names = [f"ILSVRC2012_val_{i:08}" for i in range(1, 1301)]
    archive(os.path.join(folder, "val.tar"), [(n + ".JPEG", image()) for n in names])
    xml = "<annotation><object><name>{}</name></object></annotation>"
    archive(os.path.join(folder, "boxes.tgz"), [(f"val/{n}.xml", xml.format(rng.choice(IDS)).encode()) for n in names], "w:gz")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hone", required=True)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    hone, rng = os.path.abspath(options.hone), random.Random(options.seed)
    print("seed", options.seed)
    folder = tempfile.mkdtemp(prefix="imagenet_kill_")
    atexit.register(shutil.rmtree, folder, True)
    miniature(folder)
    start_bucket("gs://kills")
    os.environ["HONE_CACHE"] = os.path.join(folder, "cache")

    def start(out, form):
        return subprocess.Popen([hone, "prepare", "imagenet", "--train_tar", "train.tar", "--val_tar", "val.tar", "--val_boxes", "boxes.tgz",
                                 "--expect", "false", "--output_format", form, "--output_dir", out],
                                cwd=folder, stderr=subprocess.PIPE, text=True)

    refused = subprocess.run([hone, "prepare", "imagenet", "--train_tar", "train.tar", "--output_dir", "part"], cwd=folder,
                             capture_output=True, text=True)
    if refused.returncode != 1 or "H2967" not in refused.stderr or "give --expect false for a part of ImageNet" not in refused.stderr:
        print("a part of ImageNet without --expect false:", refused.returncode, refused.stderr)
        return 1
    for form, place in ("folder", ""), ("webdataset", "gs://kills/"):
        alone = start("alone_" + form, form)
        began = time.monotonic()
        if alone.communicate()[0] or alone.returncode != 0:
            print("the run alone has status", alone.returncode)
            return 1
        seconds, kills, runs = time.monotonic() - began, 0, 0
        while kills < options.kills:
            out, runs = f"killed_{form}_{runs}", runs + 1
            more, wrong = run_with_kills(lambda: start(place + out, form), options.kills - kills, lambda: rng.random() * seconds,
                                         lambda: signal.SIGTERM if rng.random() < 0.33 else signal.SIGKILL)
            kills += more
            if not wrong and place:
                subprocess.run([hone, "store", "cp", "-r", place + out, "."], cwd=folder, check=True, stderr=subprocess.DEVNULL)
            wrong = wrong or ", ".join(differences(os.path.join(folder, "alone_" + form), os.path.join(folder, out))[:10])
            if wrong:
                print(f"{form}, {kills} kills: {wrong}")
                return 1
        print(f"{form}: {kills} kills of {runs} runs, equal bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
