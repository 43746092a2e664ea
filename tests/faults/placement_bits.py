#!/usr/bin/env python3
# fast
# nightly: --all
"""Placement never changes a bit: recompute and offload of activations, gradients, optimizer states and weights.

    tests/faults/placement_bits.py --hone build/hone [--all] [--seed N]

A run of 20 steps with what is computed again (nothing, blocks, half of the bytes) and where activations,
gradients, optimizer states and weights wait (device, host, disk), against the run with everything on the
device: weights, optimizer states, and loss and gradient norm of every step are equal, byte by byte. Beside
these the task and its model, accumulation, precision, adapter, optimizer, clipping, backend, threads and the
smallest tensor that leaves vary. Without --all so many runs that every pair of values of two of these is
there; with --all every one of the 3 x 81 placements, with accumulation 1 and 3, in float32, with products in
bfloat16 and with weights in it, the rest by chance.
"""
import argparse
import itertools
import json
import os
import re
import random
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDENS = os.path.join(SOURCE, "tests", "goldens")
STEPS = 20
WORDS = ("the cat sat on mat and dog lay rug for it was late house still when rain came river "
         "rose over fields men of village took boats she read letter twice").split()
MODELS = {
    "gpt2": {"model_type": "gpt2", "n_embd": 32, "n_layer": 3, "n_head": 2, "n_positions": 64, "vocab_size": 657,
             "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1},
    "llama": {"model_type": "llama", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
              "num_key_value_heads": 2, "vocab_size": 657, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "hidden_act": "silu",
              "tie_word_embeddings": True},
    "bert": {"model_type": "bert", "vocab_size": 104, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
             "intermediate_size": 48, "max_position_embeddings": 64, "type_vocab_size": 2, "pad_token_id": 0},
    "t5": {"model_type": "t5", "vocab_size": 304, "d_model": 32, "d_kv": 16, "num_heads": 2, "num_layers": 2, "num_decoder_layers": 2,
           "d_ff": 48, "dropout_rate": 0.1, "decoder_start_token_id": 0},
}
HOMES = ("none", "cpu", "nvme")
# What decides the bits, then what does not.
NUMERIC = {"model": tuple(MODELS), "accumulation": (1, 3), "precision": ("", "bf16", "fp16", "bfloat16"), "adapter": ("", "lora", "dora"),
           "optim": ("adamw_torch", "adafactor"), "max_grad_norm": (1.0, 0)}
PLACED = {"recompute": ("", "blocks", "half"), "activation": HOMES, "gradient": HOMES, "optimizer": HOMES, "param": HOMES,
          "backend": ("cpu", "far"), "threads": (1, 2, 3), "threshold": (0, 1000)}
FACTORS = {**NUMERIC, **PLACED}
PLAIN = {"recompute": "", "activation": "none", "gradient": "none", "optimizer": "none", "param": "none", "backend": "cpu", "threads": 1,
         "threshold": 0}


def pairwise(rng):
    """Rows in which every pair of values of two factors appears: greedily, the best of some drawn rows at a time."""
    names = list(FACTORS)
    left = {((a, x), (b, y)) for a, b in itertools.combinations(names, 2) for x in FACTORS[a] for y in FACTORS[b]}
    pairs_of = lambda row: set(itertools.combinations([(n, row[n]) for n in names], 2))
    while left:
        (a, x), (b, y) = rng.choice(sorted(left, key=str))
        drawn = [{**{n: rng.choice(FACTORS[n]) for n in names}, a: x, b: y} for _ in range(80)]
        best = max(drawn, key=lambda row: len(pairs_of(row) & left))
        left -= pairs_of(best)
        yield best


def all_placements(rng):
    for recompute, activation, gradient, optimizer, param, accumulation, precision in itertools.product(
            FACTORS["recompute"], HOMES, HOMES, HOMES, HOMES, (1, 3), ("", "bf16", "bfloat16")):
        row = {n: rng.choice(values) for n, values in FACTORS.items()}
        row.update(recompute=recompute, activation=activation, gradient=gradient, optimizer=optimizer, param=param, accumulation=accumulation,
                   precision=precision)
        yield row


def prepare(folder):
    rng = random.Random(5)
    text = lambda low, high: " ".join(rng.choices(WORDS, k=rng.randint(low, high)))
    with open(os.path.join(folder, "t.txt"), "w") as f:
        f.writelines(text(5, 30) + "\n" for _ in range(120))
    with open(os.path.join(folder, "labels.jsonl"), "w") as f:
        f.writelines(json.dumps({"sentence1": text(3, 9), "sentence2": text(3, 9), "label": rng.choice(["yes", "no"])}) + "\n" for _ in range(60))
    with open(os.path.join(folder, "pairs.jsonl"), "w") as f:
        f.writelines(json.dumps({"text": text(5, 14), "summary": text(2, 5)}) + "\n" for _ in range(60))
    for name, config in MODELS.items():
        with open(os.path.join(folder, name + ".json"), "w") as f:
            json.dump(config, f)


def command(hone, row, out):
    task = {"gpt2": ["clm", "--train_file", "t.txt", "--tokenizer_name", GOLDENS + "/tiny_text_gpt2", "--block_size", "24", "--validation_split_percentage", "0"],
            "llama": ["clm", "--train_file", "t.txt", "--tokenizer_name", GOLDENS + "/tiny_text_gpt2", "--block_size", "24", "--packing", "--validation_split_percentage", "0"],
            "bert": ["classification", "--train_file", "labels.jsonl", "--tokenizer_name", GOLDENS + "/classification/bert", "--max_seq_length", "40"],
            "t5": ["summarization", "--train_file", "pairs.jsonl", "--tokenizer_name", GOLDENS + "/pairs/t5", "--max_source_length", "40",
                   "--max_target_length", "16"]}[row["model"]]
    weights_in_bf16 = row["precision"] == "bfloat16" and not row["adapter"]  # Adafactor does not update them
    optim = "adamw_8bit" if weights_in_bf16 and row["optim"] == "adafactor" else row["optim"]
    argv = [hone, "train", "--task", *task, "--config_name", row["model"] + ".json", "--do_train", "--max_steps", str(STEPS),
            "--per_device_train_batch_size", "2", "--gradient_accumulation_steps", str(row["accumulation"]), "--learning_rate", "0.01",
            "--weight_decay", "0.1", "--logging_steps", "1", "--save_steps", str(STEPS), "--optim", optim,
            "--max_grad_norm", str(row["max_grad_norm"]), "--device", row["backend"], "--threads", str(row["threads"]),
            "--offload_persistence_threshold", str(row["threshold"]), "--output_dir", out]
    for what in ("activation", "gradient", "optimizer", "param"):
        argv += [f"--offload_{what}_device", row[what]]
    argv += {"": [], "blocks": ["--gradient_checkpointing"], "half": ["--activation_memory_budget", "0.5"]}[row["recompute"]]
    argv += {"": [], "bfloat16": ["--dtype", "bfloat16"]}.get(row["precision"], ["--" + row["precision"]])
    if row["adapter"]:
        argv += ["--use_peft", "--lora_r", "4"] + (["--use_dora"] if row["adapter"] == "dora" else [])
    return argv


def result(hone, folder, row, out):
    """Every byte that a placement may not change, or what went wrong."""
    done = subprocess.run(command(hone, row, out), cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        return None, f"status {done.returncode}\n{done.stderr}"
    for home, name in ("cpu", "host"), ("nvme", "disk"):
        if row["optimizer"] == home and not re.search(rf"^memory .* on {name}", done.stderr, re.M):
            return None, f"nothing is on the {name}\n{done.stderr}"

    def content(*parts):
        with open(os.path.join(folder, out, *parts), "rb") as f:
            return f.read()

    weights = "adapter_model.safetensors" if row["adapter"] else "model.safetensors"
    history = json.loads(content("trainer_state.json"))["log_history"]
    losses = [(e["loss"], e["grad_norm"]) for e in history if "loss" in e]
    if len(losses) != STEPS:
        return None, f"{len(losses)} losses"
    return {"weights": content(weights), "optimizer states": content(f"checkpoint-{STEPS}", "optimizer.safetensors"), "losses": losses}, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    options = parser.parse_args()
    hone = os.path.abspath(options.hone)
    print(f"seed {options.seed}", flush=True)
    rng = random.Random(options.seed)
    folder = tempfile.mkdtemp(prefix="hone_bits_")
    plain, runs, wrong = {}, 0, 0
    try:
        prepare(folder)
        for row in all_placements(rng) if options.all else pairwise(rng):
            key = tuple(row[n] for n in NUMERIC)
            if key not in plain:
                plain[key], why = result(hone, folder, {**row, **PLAIN}, "plain")
                if why:
                    print(f"plain run {key}: {why}")
                    return 1
                shutil.rmtree(os.path.join(folder, "plain"))
            found, why = result(hone, folder, row, "out")
            shutil.rmtree(os.path.join(folder, "out"), ignore_errors=True)
            why = why or ", ".join(f"{name} differ" for name in plain[key] if plain[key][name] != found[name])
            runs += 1
            if why:
                wrong += 1
                print(f"{' '.join(command('hone', row, 'out'))}\n{why}", flush=True)
                if wrong == 5:
                    return 1
        print(f"{runs} placed runs, {len(plain)} plain ones of {STEPS} steps: {wrong} differ")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
