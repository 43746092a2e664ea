#!/usr/bin/env python3
# nightly: --install
"""Losses of hone on 1, 2 and 4 ranks, at each stage of ZeRO, beside those of PyTorch's DDP and FSDP on Gloo.

    tests/faults/ranks_peers.py --hone build/hone [--install] [--only accumulated]

Twenty steps on rows of different lengths, so that ranks have different numbers of target tokens: a loss is the sum over all
targets of a step divided by their number, whoever has them. `accumulated` sums two micro-batches; in `short` an epoch ends
with a batch of two rows, so that some of four ranks have none. The losses must agree with the peers' within 1e-5 of their
size, and with those of one rank of hone within 1e-6.

The peer is bench/ranks_peer.py, in the Python that HONE_VENV_PYTHON names, else in build/bench-venv; --install makes it.
Without it the test is skipped.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

from kill_resume import SOURCE, WORDS

VENV = os.path.join(SOURCE, "build", "bench-venv")
MODEL = os.path.join(SOURCE, "tests", "goldens", "tiny_text_gpt2")
STEPS, RATE, DECAY = 20, 2e-3, 0.01
WORLDS, STAGES = (1, 2, 4), (0, 1, 2, 3)
# Rows of a micro-batch over all ranks, micro-batches of a step, rows of the file.
CASES = {"unequal": (4, 1, 84), "accumulated": (4, 2, 172), "short": (4, 1, 10)}
PEER_TOLERANCE, OWN_TOLERANCE = 1e-5, 1e-6

TOKENIZE = """
import json, sys, transformers
t = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
json.dump([t(text)["input_ids"] + [t.eos_token_id] for text in json.load(sys.stdin)], sys.stdout)
"""


def peer_python(install):
    """The Python that has PyTorch and Transformers; "", with a line that says so, if there is none."""
    python = os.environ.get("HONE_VENV_PYTHON") or os.path.join(VENV, "bin", "python")
    if install and not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([os.path.join(VENV, "bin", "pip"), "-q", "install", "-r",
                        os.path.join(SOURCE, "bench", "requirements.txt")], check=True)
    if not os.path.exists(python):
        print("skipped: tests/faults/ranks_peers.py --install makes build/bench-venv with PyTorch and Transformers")
        return ""
    return python


class Peers:
    """A world of ranks of the peer."""

    def __init__(self, python, folder, ranks):
        self.ranks = ranks
        words = [python, os.path.join(SOURCE, "bench", "ranks_peer.py"), os.path.join(folder, f"store-{ranks}")]
        environment = dict(os.environ, OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
        self.processes = [subprocess.Popen([*words, str(rank), str(ranks)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           text=True, env=environment) for rank in range(ranks)]

    def ask(self, requests):
        for process, request in zip(self.processes, requests):
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        lines = [process.stdout.readline() for process in self.processes]
        if not all(lines):
            sys.exit(f"a rank of the peer ended at {requests[0]['do']}")
        return [json.loads(line) for line in lines]

    def losses(self, kind, steps):
        self.ask([dict(do="load", folder=MODEL, kind=kind)] * self.ranks)
        batches = [[[rank_batch(rows, rank, self.ranks) for rows in step] for step in steps] for rank in range(self.ranks)]
        said = self.ask([dict(do="train", batches=mine, learning_rate=RATE, weight_decay=DECAY, decay_steps=STEPS)
                         for mine in batches])
        return said[0]["loss"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.stdin.close()
        for process in self.processes:
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()


def rank_batch(rows, rank, ranks):
    """The rank's share of a micro-batch, padded; a rank without rows has one without targets."""
    mine = rows[rank * len(rows) // ranks:(rank + 1) * len(rows) // ranks]
    longest = max(map(len, mine or rows))
    padded = lambda row, filler: row + [filler] * (longest - len(row))
    if not mine:
        return dict(input_ids=[padded([], 0)], attention_mask=[padded([], 1)], labels=[padded([], -100)])
    return dict(input_ids=[padded(row, 0) for row in mine], attention_mask=[padded([1] * len(row), 0) for row in mine],
                labels=[padded(row, -100) for row in mine])


def write_rows(path, count):
    """Texts from one word to thirty."""
    rng = random.Random(count)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(1, 30))) for _ in range(count)]
    with open(path, "w") as f:
        f.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    return texts


def steps_of(rows, together, micro):
    """The micro-batches of each step; an epoch ends with what is left of its rows."""
    batches = [rows[i:i + together] for i in range(0, len(rows), together)]
    return [[batches[(step * micro + i) % len(batches)] for i in range(micro)] for step in range(STEPS)]


def hone_losses(hone, folder, name, ranks, stage):
    together, micro, _ = CASES[name]
    out = os.path.join(folder, f"{name}-{ranks}-{stage}")
    train = ["train", "--task", "clm", "--model_name_or_path", MODEL, "--train_file", f"{name}.jsonl", "--validation_file",
             f"{name}.jsonl", "--do_train", "--packing", "--no_shuffle", "--per_device_train_batch_size",
             str(together // ranks), "--gradient_accumulation_steps", str(micro), "--max_steps", str(STEPS), "--learning_rate",
             str(RATE), "--weight_decay", str(DECAY), "--logging_steps", "1", "--save_strategy", "no", "--threads", "1",
             "--output_dir", out, *(["--zero_stage", str(stage)] if stage else [])]
    launch = ["launch", "--num_processes", str(ranks), "--"] if ranks > 1 else []
    done = subprocess.run([hone, *launch, *train], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=300, check=False)
    if done.returncode:
        sys.exit(f"{name}, {ranks} ranks, stage {stage}: hone ended with {done.returncode}\n{done.stderr[-4000:]}")
    with open(os.path.join(out, "trainer_state.json")) as f:
        return [entry["loss"] for entry in json.load(f)["log_history"] if "loss" in entry]


def difference(mine, others):
    if len(mine) != STEPS or len(others) != STEPS:
        sys.exit(f"{len(mine)} and {len(others)} losses of {STEPS} steps")
    return max(abs(a - b) / abs(b) for a, b in zip(mine, others))


def compare(what, mine, others, tolerance):
    """Says the largest difference; True if it is small."""
    worst = difference(mine, others)
    wrong = "" if worst <= tolerance else f", more than {tolerance:.0e}\n  {mine}\n  {others}"
    print(f"{what}: {worst:.1e}{wrong}", flush=True)
    return worst <= tolerance


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--only", choices=list(CASES))
    options = parser.parse_args()
    python = peer_python(options.install)
    if not python:
        return 77
    folder, good = tempfile.mkdtemp(prefix="hone_ranks_peers_"), True
    try:
        names = [options.only] if options.only else list(CASES)
        steps, mine = {}, {}
        for name in names:
            together, micro, count = CASES[name]
            texts = write_rows(os.path.join(folder, f"{name}.jsonl"), count)
            rows = json.loads(subprocess.run([python, "-c", TOKENIZE, MODEL], input=json.dumps(texts), capture_output=True,
                                             text=True, check=True).stdout)
            steps[name] = steps_of(rows, together, micro)
            for ranks in WORLDS:
                for stage in STAGES if ranks > 1 else STAGES[:1]:
                    mine[name, ranks, stage] = hone_losses(os.path.abspath(options.hone), folder, name, ranks, stage)
                    good &= compare(f"{name}: {ranks} ranks, stage {stage}, and one rank", mine[name, ranks, stage],
                                    mine[name, 1, 0], OWN_TOLERANCE)
        for ranks in WORLDS:
            with Peers(python, folder, ranks) as peers:
                for name in names:
                    for kind in ("ddp", "fsdp") if ranks > 1 else ("ddp",):
                        theirs = peers.losses(kind, steps[name])
                        for stage in STAGES if ranks > 1 else STAGES[:1]:
                            good &= compare(f"{name}: {ranks} ranks, stage {stage}, and {kind}", mine[name, ranks, stage],
                                            theirs, PEER_TOLERANCE)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
