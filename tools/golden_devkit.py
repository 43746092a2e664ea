#!/usr/bin/env python3
"""Makes tests/goldens/imagenet: devkits of ImageNet with three classes, in the form of ILSVRC2012_devkit_t12.tar.gz.

Needs scipy, which writes meta.mat: synsets is a struct with the fields of the original, of which ILSVRC2012_ID and WNID are read.
"""
import io
import pathlib
import tarfile

import numpy as np
from scipy.io import savemat

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/goldens/imagenet"
CLASSES = [(1, "n01440764", "tench, Tinca tinca"), (2, "n01443537", "goldfish"), (3, "n01484850", "great white shark"),
           (1001, "n00001740", "entity")]  # numbers above 1,000 are inner nodes
TRUTH = [3, 1, 1, 2, 2]


def meta(packed):
    fields = [("ILSVRC2012_ID", "O"), ("WNID", "O"), ("words", "O"), ("gloss", "O"), ("num_children", "O"), ("children", "O"),
              ("wordnet_height", "O"), ("num_train_images", "O")]
    synsets = np.empty((len(CLASSES), 1), dtype=fields)
    for i, (number, wnid, words) in enumerate(CLASSES):
        synsets[i, 0] = (float(number), wnid, words, "", 0.0, np.zeros((1, 0)), 0.0, 1300.0)
    out = io.BytesIO()
    savemat(out, dict(synsets=synsets), do_compression=packed)
    return out.getvalue()


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, packed in (("devkit", False), ("devkit_packed", True)):
        with tarfile.open(FOLDER / f"{name}.tar.gz", "w:gz") as tar:
            for path, data in (("meta.mat", meta(packed)),
                               ("ILSVRC2012_validation_ground_truth.txt", "".join(f"{n}\n" for n in TRUTH).encode())):
                info = tarfile.TarInfo(f"ILSVRC2012_devkit_t12/data/{path}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


if __name__ == "__main__":
    main()
