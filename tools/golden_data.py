#!/usr/bin/env python3
"""Makes tests/goldens/learn_data again: what pandas, datasets and Transformers say of rows.

  messy.csv, messy.json        a csv with every oddity, and the rows that pandas reads from it
  text.txt, text.json          a text with LF, CR LF and CR, and the rows of datasets' text builder
  tiny.parquet, tiny.json      columns of each type that hone reads, in row groups of 2
  tiny.feather, tiny.arrow     the same as Arrow's file and stream format, in batches of 2
  wide.parquet.gz              a column of 20 KB of text beside two of 4 MB, in row groups of 100; packed by gzip
  dataset/                     a DatasetDict of save_to_disk: train in two files, validation, test
  blocks.json                  group_texts under Dataset.map for rows of given lengths
  steps.json                   Trainer.set_initial_training_values over a grid of settings
"""
import gzip, itertools, json, math, os, random, shutil, tempfile, types
from pathlib import Path

import datasets, pandas, pyarrow, pyarrow.ipc, pyarrow.parquet, torch
from transformers import Trainer

out = Path(__file__).resolve().parent.parent / "tests/goldens/learn_data"
out.mkdir(parents=True, exist_ok=True)
datasets.disable_progress_bars()


def write(name, value):
    (out / name).write_text(json.dumps(value, separators=(",", ":")) + "\n")


messy = (b'\xef\xbb\xbftext,note\r\r\n"line 1\r\nline ""2""\r\n\r\n",x\r\r\n\r\n   \n'
         b'plain "quotes" stay,"a"tail\n"\xc3\xa9, \xe2\x82\xac",  spaced \rlast,"no, break"')
(out / "messy.csv").write_bytes(messy)
frame = pandas.read_csv(out / "messy.csv", dtype=str, keep_default_na=False)
write("messy.json", {"columns": list(frame.columns), "rows": frame.values.tolist()})

text = b"one\ntwo\r\nthree\rfour\n\n\n\nfive\n\n \nsix"
(out / "text.txt").write_bytes(text)
rows = {}
with tempfile.TemporaryDirectory() as cache:
    for by, keep in itertools.product(["line", "paragraph"], [True, False]):
        d = datasets.load_dataset("text", data_files=str(out / "text.txt"), split="train", sample_by=by,
                                  keep_linebreaks=keep, cache_dir=f"{cache}/{by}{keep}")
        rows[f"{by} {keep}"] = d["text"][:]
write("text.json", rows)

table = pyarrow.table({
    "text": ["a", "b\r\n", None, "é€", ""],
    "n": pyarrow.array([1, -2, None, 2**40, 5], pyarrow.int64()),
    "small": pyarrow.array([1, 2, 3, 4, 5], pyarrow.uint8()),
    "x": pyarrow.array([0.5, 1e-3, None, -2.0, 0.0], pyarrow.float64()),
    "half": pyarrow.array([0.5, 0.25, 0.125, 1, 2], pyarrow.float32()),
    "flag": [True, False, None, True, False],
    "ids": pyarrow.array([[1, 2, 3], [], None, [7], [8, 9]], pyarrow.list_(pyarrow.int32())),
    "parts": pyarrow.array([["p", "q"], None, ["r"], ["", "s"], ["t"]], pyarrow.large_list(pyarrow.string())),
    "label": pyarrow.array(["no", "yes", "no", "no", "yes"]).dictionary_encode(),
})
pyarrow.parquet.write_table(table, out / "tiny.parquet", row_group_size=2, compression="zstd")
# The same as Arrow's file format (batches of 2 rows, compressed) and as a stream.
with pyarrow.ipc.new_file(out / "tiny.feather", table.schema, options=pyarrow.ipc.IpcWriteOptions(
        compression="zstd", unify_dictionaries=True)) as file:
    file.write_table(table, max_chunksize=2)
with pyarrow.ipc.new_stream(out / "tiny.arrow", table.schema) as stream:
    stream.write_table(table, max_chunksize=2)
wide = pyarrow.table({
    "before": ["x" * 10000] * 400,
    "text": ["the cat sat on the mat and the dog lay on the rug"] * 400,
    "after": ["y" * 10000] * 400,
})
pyarrow.parquet.write_table(wide, out / "wide.parquet", row_group_size=100, compression="none", use_dictionary=False)
(out / "wide.parquet.gz").write_bytes(gzip.compress((out / "wide.parquet").read_bytes(), 9, mtime=0))
(out / "wide.parquet").unlink()
write("tiny.json", {"columns": table.column_names, "rows": [list(r.values()) for r in table.to_pylist()]})

parts = datasets.DatasetDict({
    "train": datasets.Dataset.from_dict({"n": [0, 1, 2, 3], "text": ["a b", "c", "d e f", "g"]}),
    "validation": datasets.Dataset.from_dict({"n": [4], "text": ["h i"]}),
    "test": datasets.Dataset.from_dict({"n": [5], "text": ["j"]})})
shutil.rmtree(out / "dataset", ignore_errors=True)
parts.save_to_disk(out / "dataset", num_shards={"train": 2, "validation": 1, "test": 1})

# run_clm's group_texts in its own words: concatenate, cut, drop the rest.
blocks = []
for seed, count, longest, block in [(1, 2500, 20, 64), (2, 1000, 9, 32), (3, 7, 400, 128), (4, 1003, 60, 1024)]:
    rng = random.Random(seed)
    lengths = [rng.randrange(longest) for _ in range(count)]
    ids, rows = itertools.count(), []
    for n in lengths:
        rows.append([next(ids) for _ in range(n)])

    def group(batch):
        joined = list(itertools.chain(*batch["ids"]))
        end = len(joined) // block * block
        return {"ids": [joined[i:i + block] for i in range(0, end, block)]}

    grouped = datasets.Dataset.from_dict({"ids": rows}).map(group, batched=True)
    blocks.append({"block": block, "lengths": lengths, "firsts": [b[0] for b in grouped["ids"]]})
write("blocks.json", blocks)

steps = []
for n, batch, accumulation, epochs, max_steps, drop in itertools.product(
        [1, 7, 16, 100, 1001], [1, 4, 8], [1, 2, 5], [1, 2.5], [-1, 13], [False, True]):
    args = types.SimpleNamespace(max_steps=max_steps, gradient_accumulation_steps=accumulation,
                                 num_train_epochs=epochs, per_device_train_batch_size=batch)
    fake = types.SimpleNamespace(args=args, get_sp_size=lambda: 1, get_total_train_batch_size=lambda a: batch * accumulation,
                                 num_examples=lambda d: len(d.dataset))
    loader = torch.utils.data.DataLoader(range(n), batch_size=batch, drop_last=drop)
    if len(loader) == 0:
        continue
    r = Trainer.set_initial_training_values(fake, args, loader)
    steps.append([n, batch, accumulation, epochs, max_steps, int(drop), r[0], r[1], r[5], r[6]])
write("steps.json", steps)
