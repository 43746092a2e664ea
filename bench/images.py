#!/usr/bin/env python3
"""Images a second of one core, from the bytes of real JPEG files to the pixels of a row: hone beside torchvision on Pillow.

Both sides read the same 115 photographs of shared/data in the same order, on the same core, in pairs that alternate. Pillow's
side ends with the cropped, resized and flipped image, hone's with the same bytes; neither makes floats. It needs
torchvision and hone's program `learn_images_bench` (`-DHONE_BENCHES=ON`), so it is not among those of `run.sh`.
"""
import argparse
import io
import json
import os
import pathlib
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = ("train", "randaugment", "evaluate")


def photographs():
    data = pathlib.Path(os.environ.get("HONE_DATA", ROOT.parent / "shared" / "data"))
    return [f.read_bytes() for f in sorted((data / "img-imagenet-sample").glob("*.JPEG"))]


def peer_of(kind):
    from torchvision.transforms import v2
    crop = [v2.RandomResizedCrop(224), v2.RandomHorizontalFlip()]
    return v2.Compose({"train": crop, "randaugment": crop + [v2.RandAugment()], "evaluate": [v2.Resize(224), v2.CenterCrop(224)]}[kind])


def peer_rate(files, transform, seconds):
    from PIL import Image
    begin, done = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        for data in files:
            transform(Image.open(io.BytesIO(data)).convert("RGB")).getpixel((0, 0))
        done += len(files)
    return done / (time.perf_counter() - begin)


def hone_rate(program, kind, seconds):
    text = subprocess.run([program, f"--benchmark_filter=files_to_pixels/kind:{KINDS.index(kind)}$", "--benchmark_format=json",
                           f"--benchmark_min_time={seconds}"], capture_output=True, text=True, check=True).stdout
    return json.loads(text)["benchmarks"][0]["items_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=str(ROOT / "build/cpu/bin/learn_images_bench"))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    import torch
    torch.set_num_threads(1)
    files = photographs()
    print("| images a second of a core | torchvision + Pillow | hone | speed |\n|---|---|---|---|")
    for kind in KINDS:
        transform, pairs = peer_of(kind), []
        for _ in range(options.pairs):
            pairs.append((peer_rate(files, transform, options.seconds), hone_rate(options.program, kind, options.seconds)))
        print(f"| {kind} | {statistics.median(p for p, _ in pairs):.0f} | {statistics.median(h for _, h in pairs):.0f} "
              f"| {statistics.median(h / p for p, h in pairs):.2f} |")


main()
