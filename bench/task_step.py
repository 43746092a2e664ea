#!/usr/bin/env python3
"""Optimizer steps of text tasks on real rows, AdamW, clipping, f32: `hone bench --task T` against Transformers eager, in pairs.

roberta-mnli     roberta-base on rows of MNLI, 16 a batch, the peer padding each batch to its longest row
roberta-mnli-128 the same with the peer padding to 128, which is run_glue's default
roberta-full     roberta-base, 16 rows that fill 128 tokens
distilbert-mnli  distilbert-base's shape, as roberta-mnli
deberta-v3-mnli  deberta-v3-base's shape, as roberta-mnli
t5-summaries     t5-small's shape on abstracts of SciTLDR, 8 rows of 512 tokens with summaries of 128
Each also at dropout 0 in one sample, where the losses must agree within 1e-3.

A sample is a few steps on batches that follow each other, the same rows on both sides; hone is started for each sample
and its first step is left out. Tokenising is not in the time of either side.
"""
import json
import tempfile

import common
import models

LEARNING_RATE = 5e-5
ROW_TOKENS = 128
SOURCE_TOKENS, TARGET_TOKENS = 512, 128


def mnli_rows(full):
    """Premise, hypothesis and label of MNLI; `full`: texts joined until no row is shorter than ROW_TOKENS."""
    data = json.loads((models.data_folder() / "mnli-9k" / "train.json").read_text())
    rows = [dict(premise=row["text_a"], hypothesis=row["text_b"], label=row["label"]) for row in data.values()]
    if not full:
        return rows
    long = []
    for i in range(0, len(rows) - 32, 32):
        premise, hypothesis = (" ".join(row[key] for row in rows[i:i + 32]) for key in ("premise", "hypothesis"))
        long.append(dict(premise=premise, hypothesis=hypothesis, label=rows[i]["label"]))
    return long


def scitldr_rows():
    """Texts and summaries: abstracts joined until they have SOURCE_TOKENS words, theirs TARGET_TOKENS; no token is longer
    than a word."""
    rows, text, summary = [], [], []
    for paper in models.papers("train"):
        text += " ".join(paper["source"]).split()
        summary += paper["target"][0].split()
        if len(text) >= SOURCE_TOKENS and len(summary) >= TARGET_TOKENS:
            rows.append(dict(text=" ".join(text), summary=" ".join(summary)))
            text, summary = [], []
    return rows


class Case:
    def prepare(self, options, folder, config):
        """hone's flags for the rows, and the peer's batches of the same."""
        import transformers
        rows = self.rows()[:options.batch * (1 + options.steps)]
        file = common.FILES / f"{self.name()}-{options.batch}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        parts = [rows[i:i + options.batch] for i in range(0, len(rows), options.batch)]
        return self.flags(str(file)), [self.arguments(tokenizer, part, config) for part in parts]


class Classification(Case):
    data = "mnli-9k"

    def __init__(self, full=False, pad_to=None, size="base", model="roberta"):
        self.full, self.pad_to, self.size, self.model = full, pad_to, size, model

    def name(self):
        return "mnli-full" if self.full else "mnli"

    def describe(self):
        return f"padded to {self.pad_to}" if self.pad_to else "dynamic padding"

    def folder(self, dropout, tiny):
        return models.roberta(dropout, tiny, self.size) if self.model == "roberta" else models.encoder(
            self.model, dropout, tiny)

    def rows(self):
        return mnli_rows(self.full)

    def arguments(self, tokenizer, part, config):
        batch = tokenizer([r["premise"] for r in part], [r["hypothesis"] for r in part], truncation=True,
                          max_length=ROW_TOKENS, padding="max_length" if self.pad_to else "longest")
        return dict(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"],
                    labels=[config["label2id"][r["label"]] for r in part])

    def flags(self, file):
        return ["--task", "classification", "--train_file", file, "--max_seq_length", str(ROW_TOKENS)]


class Summarization(Case):
    data = "scitldr"
    prefix = "summarize: "

    def __init__(self, size="small"):
        self.size = size

    def name(self):
        return "scitldr"

    def describe(self):
        return f"{SOURCE_TOKENS} + {TARGET_TOKENS} tokens a row"

    def folder(self, dropout, tiny):
        return models.t5(dropout, tiny, self.size)

    def rows(self):
        return scitldr_rows()

    def arguments(self, tokenizer, part, config):
        source = tokenizer([self.prefix + r["text"] for r in part], truncation=True, max_length=SOURCE_TOKENS,
                           padding="longest")
        target = tokenizer(text_target=[r["summary"] for r in part], truncation=True, max_length=TARGET_TOKENS,
                           padding="longest")
        labels = [[t if seen else -100 for t, seen in zip(*row)]
                  for row in zip(target["input_ids"], target["attention_mask"])]
        return dict(input_ids=source["input_ids"], attention_mask=source["attention_mask"], labels=labels,
                    use_cache=False)

    def flags(self, file):
        return ["--task", "summarization", "--train_file", file, "--text_column", "text", "--summary_column",
                "summary", "--source_prefix", self.prefix, "--max_source_length", str(SOURCE_TOKENS),
                "--max_target_length", str(TARGET_TOKENS)]


# Rows of a batch, steps in a sample besides the first, what is learnt.
CASES = {"roberta-mnli": (16, 4, Classification()),
         "roberta-mnli-128": (16, 2, Classification(pad_to=ROW_TOKENS)),
         "roberta-full": (16, 2, Classification(full=True)),
         "distilbert-mnli": (16, 4, Classification(model="distilbert")),
         "deberta-v3-mnli": (16, 4, Classification(model="deberta-v3")),
         "t5-summaries": (8, 2, Summarization())}
# With --device cuda: torch.compile, SDPA and bf16 on the other side.
GPU_CASES = {"roberta-large-mnli": (32, 4, Classification(size="large")),
             "roberta-large-full": (32, 4, Classification(full=True, size="large")),
             "t5-base-summaries": (8, 4, Summarization("base")), "t5-large-summaries": (8, 4, Summarization("large"))}


def peer_of(options, folder):
    """Transformers eager in f32, or on a GPU compiled and in bf16."""
    return common.Peer(str(folder), *([] if options.device == "cpu" else ["compile", "bf16", f"device={options.device}"]))


def hone_steps(options, folder, flags, dropout=True):
    with tempfile.TemporaryDirectory(dir=common.FILES) as output:
        text, _, peak = common.child([
            options.hone, "bench", "--model_name_or_path", str(folder), *flags, "--no_shuffle", "--max_steps",
            str(1 + options.steps), "--per_device_train_batch_size", str(options.batch), "--learning_rate",
            str(LEARNING_RATE), "--threads", str(common.THREADS), "--output_dir", output, "--device", options.device,
            "--json", *(["--bf16"] if options.device != "cpu" else []),
            *([] if dropout else ["--no_dropout"])])
    said = json.loads(text)
    return dict(seconds=sum(said["step_seconds"][1:]), loss=said["loss"], tokens=said["tokens"],
                peak=common.device_peak(options, said, said["peak_rss_bytes"]), gflops=said["matmul_gflops"])


def peer_steps(peer, batches):
    said = peer.ask("train_batches", batches=batches, learning_rate=LEARNING_RATE)
    return dict(seconds=sum(said["step_seconds"]), loss=said["loss"])


def real_tokens(batch):
    return sum(map(sum, batch["attention_mask"])) + sum(sum(t >= 0 for t in row) for row in batch["labels"]
                                                        if isinstance(row, list))


def check(options, case, mine):
    """Without dropout the first losses are the same numbers."""
    folder, config = case.folder(0.0, options.tiny)
    flags, batches = case.prepare(options, folder, config)
    peer = peer_of(options, folder)
    theirs = peer_steps(peer, batches)["loss"]
    peer.close()
    got = mine(folder, flags)
    tokens = [real_tokens(batch) for batch in batches]
    if got["tokens"] != tokens:
        raise SystemExit(f"tokens differ: hone {got['tokens']}, Transformers {tokens}")
    worst = max(abs(a - b) / abs(b) for a, b in zip(got["loss"], theirs))
    if worst > (1e-3 if options.device == "cpu" else 2e-2):
        raise SystemExit(f"losses differ by {worst:.1e} of their size: hone {got['loss']}, Transformers {theirs}")
    return worst


def measure(options, name):
    options.batch, options.steps, case = {**CASES, **GPU_CASES}[name]
    if options.tiny:
        options.batch, options.steps = 4, 1
    mine = lambda folder, flags: hone_steps(options, folder, flags)
    worst = None if options.only else check(options, case, mine)
    folder, config = case.folder(0.1, options.tiny)
    flags, batches = case.prepare(options, folder, config)
    timed = batches[1:]
    examples, tokens = options.batch * options.steps, sum(map(real_tokens, timed))
    print(f"{name}: {examples} examples, {tokens} tokens in {options.steps} steps, {case.describe()}", flush=True)
    if options.only == "hone":
        one = mine(folder, flags)
        return {"case": name, "examples/s": f"{examples / one['seconds']:.2f}", "tokens/s":
                f"{tokens / one['seconds']:.0f}", "peak": f"{one['peak'] / 2**20:.0f} MiB"}, one
    peer = peer_of(options, folder)
    peer_steps(peer, batches)  # the first step of each shape is slow
    theirs = lambda: peer_steps(peer, timed)
    if options.only == "peer":
        one = theirs()
        one["peak"] = peer.ask("peak")["bytes"]
        peer.close()
        return {"case": name, "examples/s": f"{examples / one['seconds']:.2f}", "tokens/s":
                f"{tokens / one['seconds']:.0f}", "peak": f"{one['peak'] / 2**20:.0f} MiB"}, one
    kept, retaken = common.pairs(options.pairs, options.retakes, lambda: peer.ask("probe")["gflops"], theirs,
                                 lambda: mine(folder, flags))
    peer_peak = peer.ask("peak")["bytes"]
    peer.close()
    hone_peak = max(pair["hone"]["peak"] for pair in kept)
    seen = common.summary(kept)
    row = {"case": name, "Transformers": case.describe(), "rows": options.batch, "tokens/step": tokens // options.steps,
           "examples/s": f"{examples / seen['peer_seconds']:.2f} / {examples / seen['hone_seconds']:.2f}",
           "tokens/s": f"{tokens / seen['peer_seconds']:.0f} / {tokens / seen['hone_seconds']:.0f}",
           "speed": f"{seen['speedup']:.2f}x",
           "peak MiB": f"{peer_peak / 2**20:.0f} / {hone_peak / 2**20:.0f}", "memory": f"{hone_peak / peer_peak:.2f}x",
           "loss differs, dropout 0": f"{worst:.1e}",
           "pairs": f"{seen['steady_pairs']} steady of {len(kept)}, {retaken} retaken"}
    return row, dict(pairs=kept, summary=seen, peer_peak=peer_peak, hone_peak=hone_peak)


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="*", choices=[*CASES, *GPU_CASES])
    options = parser.parse_args()
    common.limit_threads(options.device)
    common.FILES.mkdir(parents=True, exist_ok=True)
    rows, details = [], {}
    for case in options.cases or (CASES if options.device == "cpu" else GPU_CASES):
        data = {**CASES, **GPU_CASES}[case][2].data
        if not (models.data_folder() / data).exists():
            print(f"{models.data_folder()} has no {data}: nothing to measure for {case} (HONE_DATA names the folder)")
            continue
        row, details[case] = measure(options, case)
        rows.append(row)
        precision = "f32" if options.device == "cpu" else "bf16"
        common.finish(f"Steps of text tasks, AdamW {precision} (Transformers / hone)", rows, details, options)


if __name__ == "__main__":
    main()
