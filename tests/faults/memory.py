#!/usr/bin/env python3
# nightly: --random 200
"""Planned = measured memory: runs whose arenas take what the plan says, within 1 % + 6 MiB.

    tests/faults/memory.py --hone build/hone [--random COUNT] [--seed N]

For each configuration (family, sizes, batch, block, accumulation, packing, evaluation, threads, where
optimizer states are) one short run from a config alone: chosen ones, or COUNT drawn by chance. Demanded: the plan that the run followed equals what /proc says the process holds
(RssAnon + RssShmem) less its value just before the arena was mapped, within 1 % + 6 MiB; the runtime
itself stays within its budget of 192 MiB; and `hone plan` says the same bytes beforehand where rows
are blocks. /proc is also read from outside while the run goes on.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from checks import disk_folder  # noqa: E402
from limited_run import held  # noqa: E402

BUDGET = 192 << 20
VOCAB = 2000


def gpt2(embd, layers, heads, **more):
    return {"model_type": "gpt2", "n_embd": embd, "n_layer": layers, "n_head": heads, "n_positions": 512,
            "vocab_size": VOCAB, "activation_function": "gelu_new", "attn_pdrop": 0.1, "embd_pdrop": 0.1,
            "resid_pdrop": 0.1, **more}


def llama(hidden, layers, heads, kv_heads, **more):
    return {"model_type": "llama", "hidden_size": hidden, "intermediate_size": hidden * 3, "num_hidden_layers": layers,
            "num_attention_heads": heads, "num_key_value_heads": kv_heads, "vocab_size": VOCAB,
            "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
            "tie_word_embeddings": False, **more}


def bart(width, layers, heads):
    return {"model_type": "bart", "vocab_size": VOCAB, "d_model": width, "max_position_embeddings": 512,
            **{f"{side}_{key}": value for side in ("encoder", "decoder")
               for key, value in (("layers", layers), ("attention_heads", heads), ("ffn_dim", width * 4))}}


PAIRS = None  # in the place of packing: pairs of texts, and texts written in evaluation

# name, config, batch, block, accumulation, packing, evaluation
CONFIGURATIONS = [
    ("gpt2", gpt2(256, 4, 4), 4, 128, 1, False, False),
    ("gpt2, accumulation", gpt2(256, 4, 4), 4, 128, 2, False, True),
    ("gpt2, packing", gpt2(256, 4, 4), 4, 128, 2, True, True),
    ("gpt2, long rows", gpt2(192, 3, 3), 2, 512, 1, False, True),
    ("gpt2, wide", gpt2(768, 3, 12), 2, 64, 1, False, False),
    ("gpt2, one row", gpt2(384, 6, 6), 1, 64, 3, False, True),
    ("llama, grouped heads", llama(256, 4, 8, 2), 4, 128, 1, False, True),
    ("llama, packing", llama(256, 4, 4, 4), 8, 64, 2, True, False),
    ("llama, tied", llama(512, 3, 8, 8, tie_word_embeddings=True), 2, 128, 1, False, True),
    ("bart, pairs", bart(256, 2, 4), 4, 96, 2, PAIRS, True),
    ("qwen2", llama(320, 4, 5, 1, model_type="qwen2"), 3, 96, 2, False, True),
]


def drawn(rng):
    """A small configuration: name and the rest of a row of CONFIGURATIONS, threads and the home of optimizer states."""
    family = rng.choice(["gpt2", "llama", "qwen2", "mistral"])
    head, kv_heads, group = rng.choice([4, 8, 16, 32]) * 2, rng.randint(1, 3), rng.randint(1, 3)
    heads = kv_heads * (1 if family == "gpt2" else group)
    layers = rng.randint(1, 4)
    if family == "gpt2":
        config = gpt2(head * heads, layers, heads, resid_pdrop=rng.choice([0.0, 0.1]), attn_pdrop=rng.choice([0.0, 0.1]))
    else:
        config = llama(head * heads, layers, heads, kv_heads, model_type=family, tie_word_embeddings=rng.random() < 0.5)
        if family == "mistral":
            config["sliding_window"] = rng.choice([16, 64, None])
    batch, block, accumulation = rng.randint(1, 6), rng.choice([16, 24, 32, 50, 64, 100, 128]), rng.randint(1, 4)
    packing, evaluation, threads = rng.random() < 0.5, rng.random() < 0.5, rng.randint(1, 2)
    name = f"{family} {layers}x{head * heads} b{batch}x{block} a{accumulation}{' packed' * packing}{' eval' * evaluation} t{threads}"
    return name, config, batch, block, accumulation, packing, evaluation, threads, rng.choice(["none", "none", "cpu", "nvme"])


def rows(path, rng):
    with open(path, "w") as f:
        for _ in range(160):
            f.write(json.dumps({"input_ids": [rng.randrange(VOCAB) for _ in range(rng.randint(8, 120))]}) + "\n")


def pairs(path, rng):
    words = "the cat sat on mat and dog lay rug for it was late house still when rain came river".split()
    with open(path, "w") as f:
        for _ in range(80):
            f.write(json.dumps({"text": " ".join(rng.choices(words, k=rng.randint(8, 60))),
                                "summary": " ".join(rng.choices(words, k=rng.randint(2, 12)))}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--random", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    options = parser.parse_args()
    configurations = [(*c, 2, "none") for c in CONFIGURATIONS]
    configurations += [(*c, 2, home) for c in CONFIGURATIONS[:2] for home in ("cpu", "nvme")]
    # States of many sizes, which are read from disk while they are saved.
    configurations += [(*c, 2, "nvme") for c in CONFIGURATIONS if c[0] in ("gpt2, wide", "llama, tied")]
    if options.random:
        print(f"seed {options.seed}")
        rng = random.Random(options.seed)
        configurations = [drawn(rng) for _ in range(options.random)]
    hone = os.path.abspath(options.hone)
    folder = disk_folder("hone_memory_")
    wrong = 0
    try:
        rows(os.path.join(folder, "rows.jsonl"), random.Random(3))
        pairs(os.path.join(folder, "pairs.jsonl"), random.Random(3))
        for name, config, batch, block, accumulation, packing, evaluation, threads, home in configurations:
            name += f", states on {home}" * (home != "none")
            shutil.rmtree(os.path.join(folder, "out"), ignore_errors=True)
            with open(os.path.join(folder, "config.json"), "w") as f:
                json.dump(config, f)
            of_task = ["--task", "clm", "--block_size", str(block)]
            if packing is PAIRS:
                of_task = ["--task", "summarization", "--max_source_length", str(block), "--max_target_length", str(block // 4),
                           "--tokenizer_name", os.path.join(SOURCE, "tests", "goldens", "pairs", "bart"),
                           "--predict_with_generate", "--num_beams", "2"]
            shape = [*of_task, "--config_name", "config.json", "--threads", str(threads),
                     "--per_device_train_batch_size", str(batch), "--per_device_eval_batch_size", str(batch),
                     "--gradient_accumulation_steps", str(accumulation), "--do_train", "--offload_optimizer_device", home]
            shape += ["--do_eval"] if evaluation else []
            # The first plan of a program measures the speed of the machine, which takes memory before there is an arena.
            plan = subprocess.run([hone, "plan", *shape, "--json"], cwd=folder, capture_output=True)
            argv = [hone, "train", *shape, "--train_file", "pairs.jsonl" if packing is PAIRS else "rows.jsonl", "--validation_split_percentage", "20",
                    "--max_steps", "3", "--save_steps", "2", "--max_eval_samples", "8", "--output_dir", "out",
                    *(["--packing"] if packing else [])]
            with open(os.path.join(folder, "log"), "wb") as log:
                process = subprocess.Popen(argv, cwd=folder, stdout=log, stderr=log)
                most = 0
                while process.poll() is None:
                    most = max(most, held(process.pid))
                    time.sleep(0.005)
            if process.returncode != 0:
                print(f"{name}: status {process.returncode}\n" + open(os.path.join(folder, "log")).read())
                return 1
            with open(os.path.join(folder, "out", "train_results.json")) as f:
                r = json.load(f)
            planned, measured, runtime = (r[f"memory_{k}_bytes"] for k in ("planned", "measured", "runtime"))
            allowed = planned // 100 + (6 << 20)  # a block of 4 MiB is read from disk at a time
            notes = []
            if abs(measured - planned) > allowed:
                notes.append(f"measured {measured - planned:+,} bytes from the plan, allowed {allowed:,}")
            if most - runtime - planned > allowed:
                notes.append(f"held {most - runtime - planned:+,} bytes beyond the plan during the run, allowed {allowed:,}")
            if runtime > BUDGET:
                notes.append(f"the runtime holds {runtime:,} bytes of {BUDGET:,}")
            if packing is False:
                peak = json.loads(plan.stdout)["peak_bytes"]
                said = peak["device"] + peak["host"] - BUDGET
                # A run whose last batch of an epoch is short plans one more size: never more memory.
                if said != planned:
                    notes.append(f"hone plan said {said:,} bytes, the run planned {planned:,}")
            print(f"{name:<34} planned {planned / 2**20:8.1f} MiB, measured {(measured - planned) / 2**20:+7.2f}, most {(most - runtime - planned) / 2**20:+7.2f}, "
                  f"runtime {runtime / 2**20:6.1f}  {'; '.join(notes) or 'ok'}", flush=True)
            wrong += bool(notes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
