#!/usr/bin/env python3
"""Predicted against measured seconds of an optimizer step, in ten configurations that differ in model, rows, precision,
recompute, adapters and offload. No peer.

Each sample is a process of its own that measures the machine's speed first (an empty HONE_CACHE) and then trains a new
model of the real shape, so both are slowed by the same neighbours. The ratio of a configuration is the median over its
samples; with --write the table is kept.
"""
import json
import os
import shutil
import statistics
import tempfile

import common
import models

CLM = ["--task", "clm", "--train_file", "TEXT"]
GPT2 = [*CLM, "--config_name", "CONFIGS/gpt2.json", "--tokenizer_name", "DATA/tok-gpt2"]
SMOLLM2 = [*CLM, "--config_name", "CONFIGS/smollm2-135m.json", "--tokenizer_name", "DATA/tok-llama2"]


def rows(batch, block):
    return ["--per_device_train_batch_size", str(batch), "--block_size", str(block)]


CASES = {
    "gpt2 1x128": [*GPT2, *rows(1, 128)],
    "gpt2 4x512": [*GPT2, *rows(4, 512)],
    "gpt2 2x1024": [*GPT2, *rows(2, 1024)],
    "gpt2 8x128, bf16": [*GPT2, *rows(8, 128), "--bf16"],
    "gpt2 4x256, recompute": [*GPT2, *rows(4, 256), "--gradient_checkpointing"],
    "gpt2 4x256, optimizer on disk": [*GPT2, *rows(4, 256), "--offload_optimizer_device", "nvme"],
    "smollm2-135m 2x512": [*SMOLLM2, *rows(2, 512)],
    "smollm2-135m 2x512, LoRA": [*SMOLLM2, *rows(2, 512), "--use_peft", "--lora_r", "16"],
    "roberta-base, classification": [
        "--task", "classification", "--task_name", "rte", "--config_name", "CONFIGS/roberta-base.json",
        "--tokenizer_name", "DATA/tok-roberta", "--train_file", "RTE", "--per_device_train_batch_size", "16"],
    "t5-small, summarization": [
        "--task", "summarization", "--config_name", "CONFIGS/t5-small.json", "--tokenizer_name", "DATA/tok-t5",
        "--train_file", "PAIRS", "--source_prefix", "summarize: ", "--max_source_length", "512",
        "--per_device_train_batch_size", "4"],
}


def sample(options, flags, files):
    """Predicted seconds and those of the steps after the first."""
    with tempfile.TemporaryDirectory(dir=common.FILES) as folder:
        os.environ["HONE_CACHE"] = folder + "/cache"
        output, _, _ = common.child([options.hone, "bench", *[fill(flag, files) for flag in flags], "--max_steps",
                                     str(1 + options.steps), "--threads", str(common.THREADS), "--json",
                                     "--output_dir", folder + "/out"])
    said = json.loads(output)
    return said["predicted_step_seconds"], said["step_seconds"][1:]


def fill(flag, files):
    for name, value in files.items():
        flag = flag.replace(name, str(value))
    return flag


def find_files():
    data = models.data_folder()
    text, pairs = common.FILES / "shakespeare.txt", common.FILES / "pairs.jsonl"
    if not text.exists():
        shutil.copy(data / "tinyshakespeare" / "input.txt", text)
    if not pairs.exists():  # articles of about 300 words with their first sentences as summaries
        words = text.read_text().split()
        pairs.write_text("".join(json.dumps(dict(text=" ".join(words[i:i + 200 + i % 200]),
                                                 summary=" ".join(words[i:i + 40]))) + "\n"
                                 for i in range(0, 100000, 400)))
    return dict(CONFIGS=data / "configs", DATA=data, TEXT=text, PAIRS=pairs,
                RTE=next(path for path in sorted((data / "rte").iterdir()) if "train" in path.name))


def main():
    parser = common.arguments(__doc__.splitlines()[0], pairs=3)
    parser.add_argument("--steps", type=int, default=4, help="timed steps in one sample, after the first")
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    options = parser.parse_args()
    common.limit_threads()
    common.FILES.mkdir(parents=True, exist_ok=True)
    files = find_files()
    seen = {case: [] for case in options.cases}
    for turn in range(options.pairs):
        for case in options.cases:
            predicted, steps = sample(options, CASES[case], files)
            measured = statistics.median(steps)
            seen[case].append(dict(predicted=predicted, steps=steps, ratio=predicted / measured))
            print(f"  {turn + 1}: {case}: predicted {predicted:.3f} s, measured {measured:.3f} s, "
                  f"{predicted / measured:.2f}", flush=True)
    table = []
    for case, samples in seen.items():
        table.append({"configuration": case,
                      "predicted s": f"{statistics.median(s['predicted'] for s in samples):.3f}",
                      "measured s": f"{statistics.median(t for s in samples for t in s['steps']):.3f}",
                      "predicted / measured": f"{statistics.median(s['ratio'] for s in samples):.2f}",
                      "of single samples": " ".join(f"{s['ratio']:.2f}" for s in samples)})
    common.finish("Predicted time of a step", table, seen, options)


if __name__ == "__main__":
    main()
