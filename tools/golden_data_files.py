#!/usr/bin/env python3
"""Golden answers of Hugging Face datasets: which files of a folder are which split.

Makes tests/goldens/learn_datasets: data_files.json, labels.parquet and words.parquet with a ClassLabel. Each case is a folder of empty files, perhaps a README.md header and a configuration asked for; the
answer is the configuration, the format and the files of each split in order, or "refused".
"""
import json
import os
import tempfile
from pathlib import Path

import datasets

OUT = Path(__file__).resolve().parent.parent / "tests/goldens/learn_datasets/data_files.json"

CASES = [
    # files, README header, configurations asked for
    (["data.csv"], None, [None, "default", "other"]),
    (["train.csv", "test.csv"], None, [None]),
    (["data/train.jsonl", "data/dev.jsonl", "LICENSE", ".gitattributes"], None, [None]),
    (["train-00000-of-00002.parquet", "train-00001-of-00002.parquet", "valid-00000-of-00001.parquet"], None, [None]),
    (["data/train-00000-of-00001.parquet", "data/validation_matched-00000-of-00001.parquet",
      "data/validation_mismatched-00000-of-00001.parquet", "data/zoo-00000-of-00001.parquet",
      "data/test-00000-of-00001-0123456789abcdef.parquet", "extra/train.csv"], None, [None]),
    (["train/a.txt", "train/b.txt", "val/a.txt", "other/c.txt"], None, [None]),
    (["my-training set/a.json", "eval_2/a.json", "x/testing/deep/b.json"], None, [None]),
    (["wiki.train.raw.txt", "wiki.valid.raw.txt", "wiki.test.raw.txt"], None, [None]),
    (["trainer.csv", "contest.csv", "latest.csv"], None, [None]),
    (["train_0.tsv", "train_1.tsv", "evaluation.tsv", "my.dev.tsv"], None, [None]),
    (["a.csv", "b.csv", "c.json", "notes.pdf"], None, [None]),
    (["a.jsonl", "b.csv"], None, [None]),
    (["a.parquet", "b.csv"], None, [None]),
    (["a.csv.gz", "b.csv.gz", "c.txt"], None, [None]),
    (["metadata.csv", "a.png", "b.png"], None, [None]),
    (["train.csv", "__pycache__/train.csv", ".hidden/train.csv", ".train.csv", "dataset_info.json"], None, [None]),
    (["DATA.CSV", "b.csv"], None, [None]),
    (["train.csv", "test.json"], None, [None]),
    (["README.txt.bak", "config.json"], None, [None]),
    (["en/train.csv", "en/test.csv", "de/train.csv", "all.csv"],
     "configs:\n- config_name: en\n  data_files:\n  - split: train\n    path: en/train.csv\n  - split: test\n    path:\n"
     "    - en/test.csv\n    - de/*.csv\n- config_name: de\n  data_files: de/*\n  default: true\n"
     "- config_name: both\n  data_files: ['en/tr*', '*/t[r-s]ain.csv']\n",
     [None, "en", "de", "both", "fr", "default"]),
    (["en/train.csv", "en/test.csv", "de/train.csv"],
     "configs:\n- config_name: en\n  data_dir: en\n- config_name: de\n  data_dir: de\n", [None, "en", "de"]),
    (["x/train-1.csv", "y/dev.csv"],
     "configs:\n- config_name: default\n  data_files:\n  - split: dev\n    path: '**/dev.csv'\n  - split: train\n"
     "    path: x/*\n- config_name: 'no'\n  data_files: y/?ev.csv\n", [None, "default", "no"]),
    (["a.csv", "sub/b.csv", "sub/deep/c.csv"],
     "configs:\n- config_name: one\n  data_files: '*'\n- config_name: two\n  data_files: '*/*'\n"
     "- config_name: three\n  data_files: 'sub/**'\n- config_name: four\n  data_files: '**/[!a].csv'\n"
     "- config_name: five\n  data_files: sub\n- config_name: six\n  data_files: nothing.csv\n",
     ["one", "two", "three", "four", "five", "six"]),
    (["a.csv"], "configs:\n- config_name: only\n  data_files: a.csv\n", [None, "only", "other"]),
    (["a.csv"], "configs:\n- config_name: x\n  data_files:\n    train: a.csv\n", ["x"]),
    (["a.csv"], "configs:\n- config_name: x\n  data_files: a.csv\n  default: true\n- config_name: default\n"
     "  data_files: a.csv\n", [None]),
    (["a.csv", "__x/b.csv"], "configs:\n- config_name: x\n  data_files: '__x/*'\n", [None]),
    (["data/train-00000-of-00001.parquet"], "dataset_info:\n  features:\n  - name: text\n    dtype: string\n"
     "  splits:\n  - name: train\n", [None]),
]


def answer(folder, config):
    try:
        builder = datasets.load_dataset_builder(folder, config)
        splits = [[str(split), [os.path.relpath(f, os.path.realpath(folder)) for f in files]]
                  for split, files in builder.config.data_files.items() if files]
    except Exception:
        return "refused"
    if not splits:
        return "refused"
    return {"config": builder.config.name, "format": type(builder).__module__.split(".")[-1], "splits": splits}


def main():
    out = []
    OUT.parent.mkdir(parents=True, exist_ok=True)
    for files, header, configs in CASES:
        with tempfile.TemporaryDirectory() as folder:
            for f in files:
                os.makedirs(os.path.dirname(os.path.join(folder, f)), exist_ok=True)
                open(os.path.join(folder, f), "wb").close()
            if header:
                with open(os.path.join(folder, "README.md"), "w", encoding="utf-8") as f:
                    f.write(f"---\n{header}---\n# A data set\n")
            out.append({"files": files, "header": header or "",
                        "asked": [[c or "", answer(folder, c)] for c in configs]})
    features = datasets.Features({"text": datasets.Value("string"),
                                  "label": datasets.ClassLabel(names=["negative", "positive"])})
    datasets.Dataset.from_dict({"text": ["a", "b"], "label": [1, 0]}, features).to_parquet(
        OUT.parent / "labels.parquet")
    features = datasets.Features({"tokens": datasets.Sequence(datasets.Value("string")),
                                  "ner_tags": datasets.Sequence(datasets.ClassLabel(names=["O", "B-PER"]))})
    datasets.Dataset.from_dict({"tokens": [["to", "Anna"]], "ner_tags": [[0, 1]]}, features).to_parquet(
        OUT.parent / "words.parquet")
    with open(OUT, "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(case) for case in out) + "\n]\n")


if __name__ == "__main__":
    main()
