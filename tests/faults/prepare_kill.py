#!/usr/bin/env python3
# nightly: --rounds 40
"""Kills workers of a shared hone prepare at random moments, and demands the bytes of one that was left alone.

    tests/faults/prepare_kill.py --hone build/hone [--rounds 4] [--bucket] [--seed N]

A round starts one to four processes with the same output folder, as several hosts would, each with one to three
workers. Until they end, processes are killed with SIGKILL, among them the ones that --workers started, or stopped and
continued later; when all are dead, one is started again. After kills one more is started, since a killed worker's
unfinished file may be younger than the end of all others. Then the folder must be equal to that of one process alone. With --bucket the folder is in an object store (tools/fake_buckets.py), where leases of other hosts
must become stale: there a process that is killed also counts as one of another host.
"""
import argparse
import atexit
import ctypes
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from bucket import start_bucket  # noqa: E402
from folders import differences  # noqa: E402
FORMS = {"shards": [], "megatron": ["--output_format", "megatron"],
         "unique": ["--dedup", "exact"],
         "shuffled": ["--dedup", "minhash", "--num_perm", "32", "--ngram", "2", "--shuffle_seed", "3"]}
WORDS = "the cat sat on mat and dog lay rug for it was late house still when rain came river rose over fields".split()


def texts(folder):
    rng = random.Random(3)
    for name, rows in ("a.jsonl", 9000), ("b.jsonl", 200), ("c.jsonl", 200), ("d.txt", 6000):
        with open(os.path.join(folder, name), "w") as f:
            for _ in range(rows):
                text = " ".join(rng.choices(WORDS, k=rng.randint(1, 60)))
                f.write((json.dumps({"text": text}) if name != "d.txt" else text) + "\n")


def command(hone, out, workers, *more):
    return [hone, "prepare", "--task", "clm", "--model_name_or_path", os.path.join(SOURCE, "tests/goldens/tiny_text_gpt2"),
            "--train_file", "a.jsonl", "b.jsonl", "c.jsonl", "d.txt", "--validation_file", "b.jsonl", "--block_size", "64",
            "--max_shard_size", "64KiB", "--workers", str(workers), "--work_item_size", "100KiB", "--threads", "2",
            "--lease_seconds", "1.5", "--output_dir", out, *more]


def family(pid):
    """The process and its children."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [pid] + [int(word) for word in f.read().split()]
    except OSError:
        return []


def adopt_orphans():
    """Workers whose parent was killed become children of this process."""
    pr_set_child_subreaper = 36
    assert ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0) == 0


def wait_for_orphans(others):
    for pid in family(os.getpid())[1:]:
        if pid not in others:
            os.waitpid(pid, 0)


def one_round(hone, folder, rng, name, more, others):
    """Returns the number of kills, and what went wrong. Children in `others` are not workers."""
    log = open(os.path.join(folder, "log"), "w+")

    def start():
        return subprocess.Popen(command(hone, name, rng.randint(1, 3), *more), cwd=folder, stdout=log, stderr=log)

    running = [start() for _ in range(rng.randint(1, 4))]
    kills = 0
    until = time.monotonic() + 120
    while running:
        if time.monotonic() > until:
            return kills, "it does not end"
        time.sleep(rng.random() * 0.25)
        for p in list(running):
            if p.poll() is None:
                continue
            if p.returncode not in (0, -signal.SIGKILL):
                log.seek(0)
                return kills, f"status {p.returncode}: {log.read()[-2000:]}"
            running.remove(p)
            if p.returncode == -signal.SIGKILL and not running:
                running.append(start())
        if running and kills < 12:
            victims = family(rng.choice(running).pid)
            if victims:
                victim = rng.choice(victims)
                try:
                    if rng.random() < 0.25:
                        os.kill(victim, signal.SIGSTOP)
                        time.sleep(rng.random() * 3)
                        os.kill(victim, signal.SIGCONT)
                    else:
                        os.kill(victim, signal.SIGKILL)
                        kills += 1
                except ProcessLookupError:
                    pass
    wait_for_orphans(others)
    if kills:
        subprocess.run(command(hone, name, 1, *more), cwd=folder, check=True, stdout=log, stderr=log)
    return kills, ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hone", required=True)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--bucket", action="store_true")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    hone = os.path.abspath(options.hone)
    print("seed", options.seed)
    rng = random.Random(options.seed)
    folder = tempfile.mkdtemp(prefix="prepare_kill_")
    atexit.register(shutil.rmtree, folder, True)
    texts(folder)
    adopt_orphans()
    others = []
    if options.bucket:
        others.append(start_bucket("gs://kills")[0].pid)
        os.environ["HONE_CACHE"] = os.path.join(folder, "cache")
    for form, more in FORMS.items():
        subprocess.run(command(hone, form, 1, *more), cwd=folder, check=True, stderr=subprocess.DEVNULL)
        for number in range((options.rounds + len(FORMS) - 1) // len(FORMS)):
            name = f"{form}{number}"
            out = f"gs://kills/{name}" if options.bucket else name
            kills, wrong = one_round(hone, folder, rng, out, more, others)
            if not wrong and options.bucket:
                subprocess.run([hone, "store", "cp", "-r", out, "."], cwd=folder, check=True, stderr=subprocess.DEVNULL)
            wrong = wrong or ", ".join(differences(os.path.join(folder, form), os.path.join(folder, name)))
            if wrong:
                print(f"round {name}, {kills} kills: {wrong}")
                return 1
            print(f"round {name}: {kills} kills, equal bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
