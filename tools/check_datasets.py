#!/usr/bin/env python3
"""What hone and the datasets library make of each other's folders (needs datasets and hone).

    tools/check_datasets.py [--hone build/hone]

  hone prepare's folder      load_from_disk gives the blocks that run_clm's group_texts makes with
                             the same tokenizer
  save_to_disk's folder      hone prepare makes the same blocks of it as of the jsonl
"""
import argparse, json, subprocess, tempfile
from itertools import chain
from pathlib import Path

import datasets
from transformers import AutoTokenizer

root = Path(__file__).resolve().parent.parent
parser = argparse.ArgumentParser()
parser.add_argument("--hone", default=root / "build/hone")
hone = Path(parser.parse_args().hone).resolve()
datasets.disable_progress_bars()
model, block = root / "tests/goldens/tiny_text_gpt2", 16
rows = [f"{i} the cat sat on the mat, and the river rose over {'the fields ' * (i % 9)}\n" for i in range(3300)]


def prepare(source, folder, *flags):
    subprocess.run([hone, "prepare", "--task", "clm", "--model_name_or_path", model, "--train_file", source,
                    "--output_dir", folder, "--block_size", str(block), "--max_shard_size", "32KiB", *flags],
                   check=True, stderr=subprocess.DEVNULL)
    return datasets.load_from_disk(folder)


tokenizer = AutoTokenizer.from_pretrained(model)


def group(batch):
    joined = list(chain(*batch["input_ids"]))
    return {"input_ids": [joined[i:i + block] for i in range(0, len(joined) // block * block, block)]}


with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    (folder / "a.jsonl").write_text("".join(json.dumps({"text": r}) + "\n" for r in rows))
    split = datasets.DatasetDict({"train": datasets.Dataset.from_dict({"text": rows[165:]}),
                                  "validation": datasets.Dataset.from_dict({"text": rows[:165]})})
    ids = split.map(lambda b: {"input_ids": tokenizer(b["text"])["input_ids"]}, batched=True, remove_columns=["text"])
    want = ids.map(group, batched=True, remove_columns=ids["train"].column_names)
    made = prepare(folder / "a.jsonl", folder / "shards")
    assert list(made) == ["train", "validation"], made
    for name in made:
        assert len(list((folder / "shards" / name).glob("*.arrow"))) >= 1
        assert made[name]["input_ids"][:] == want[name]["input_ids"][:], name
        print(f"hone prepare -> load_from_disk: {name}: {made[name].num_rows} blocks are those of group_texts; {made[name].features}")
    split.save_to_disk(folder / "dataset", num_shards={"train": 3, "validation": 1})
    again = prepare(folder / "dataset", folder / "shards2")
    for name in made:
        assert again[name]["input_ids"][:] == made[name]["input_ids"][:], name
    print("save_to_disk -> hone prepare: the same blocks")
    packed = prepare(folder / "a.jsonl", folder / "rows", "--packing")["train"]["input_ids"][:]
    eos = tokenizer.eos_token_id
    cut = [(r if r and r[-1] == eos else r + [eos])[:block] for r in ids["train"]["input_ids"]]
    assert packed == cut
    print(f"hone prepare --packing: {len(packed)} rows")
