#!/usr/bin/env python3
# nightly: --moments 200
"""Kills a training run at random moments, types the same command again until it ends, and demands
the bits of the run that was never killed.

    tests/faults/kill_resume.py --hone build/hone [--moments 10] [--seed N]

Rounds of up to four kills each until there were that many: while it starts or resumes, on the clock,
at some line of the log, while it evaluates, while a checkpoint is being written, or while the final
model is being saved; mostly with SIGKILL, else with SIGTERM or SIGINT, after which the run must have
saved and left with 143 or 130. After each kill every checkpoint and model in the folder must be
whole. With --bucket the output folder is in an object store (tools/fake_buckets.py), where what has no
manifest does not count. Compared at the end of a round: the final
model, weights and moments of the last checkpoint byte by byte, and trainer_state.json without its
times. The run accumulates, packs rows and has dropout. Each time it is typed, other values are
offloaded to the host or the disk, or computed again, which changes no bit; nothing is left in the
folder of what is offloaded. The seed is printed; the same seed chooses the same kinds of moments.
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from bucket import start_bucket  # noqa: E402

WORDS = ("the cat sat on mat and dog lay rug for it was late house still when rain came river "
         "rose over fields men of village took boats she read letter twice").split()
STEPS = 14
EVALUATED = (5, 10, STEPS)
OFFLOADED = "offloaded"  # a folder
SERVER = ""  # of the bucket, when there is one


def use_bucket():
    """Serves gs://kills; what runs from here on finds it."""
    global SERVER
    SERVER = start_bucket("gs://kills")[1]


def place(out):
    """The output folder as hone is told."""
    return f"gs://kills/{out}" if SERVER else out


def bring(hone, folder, out):
    """Makes the local folder what the bucket is."""
    if SERVER:
        shutil.rmtree(os.path.join(folder, out), ignore_errors=True)
        os.makedirs(os.path.join(folder, out))
        if names(os.path.join(folder, out), True):
            subprocess.run([hone, "store", "sync", place(out), out], cwd=folder, check=True, stderr=subprocess.DEVNULL)


def prepare(folder):
    """A small text and a tiny GPT-2 with dropout."""
    rng = random.Random(5)
    for name, rows in ("train.jsonl", 40), ("validation.jsonl", 150):  # enough for an evaluation that takes a while
        with open(os.path.join(folder, name), "w") as f:
            for _ in range(rows):
                f.write(json.dumps({"text": " ".join(rng.choices(WORDS, k=rng.randint(3, 20)))}) + "\n")
    model = os.path.join(folder, "model")
    shutil.copytree(os.path.join(SOURCE, "tests", "goldens", "tiny_text_gpt2"), model)
    path = os.path.join(model, "config.json")
    with open(path) as f:
        config = json.load(f)
    config.update(attn_pdrop=0.1, embd_pdrop=0.1, resid_pdrop=0.1)
    with open(path, "w") as f:
        json.dump(config, f)


def placement(rng):
    """Flags that change no bit: all on the device, or what is offloaded where, and what is computed again."""
    if rng.random() < 0.25:
        return []
    flags = ["--offload_optimizer_nvme_path", OFFLOADED, "--offload_persistence_threshold", rng.choice(["0", "1000"])]
    for what in ("optimizer", "param", "gradient", "activation"):
        flags += [f"--offload_{what}_device", rng.choice(["none", "cpu", "nvme", "nvme"])]
    return flags + rng.choice([[], ["--gradient_checkpointing"], ["--activation_memory_budget", "0.5"]])


def command(hone, out):
    return [hone, "train", "--task", "clm", "--model_name_or_path", "model", "--train_file", "train.jsonl",
            "--validation_file", "validation.jsonl", "--per_device_eval_batch_size", "1", "--do_train", "--do_eval", "--packing", "--block_size", "32",
            "--per_device_train_batch_size", "2", "--gradient_accumulation_steps", "2", "--max_steps", str(STEPS),
            "--learning_rate", "0.01", "--eval_strategy", "steps", "--eval_steps", "5", "--save_steps", "4",
            "--logging_steps", "1", "--save_total_limit", "2", "--threads", "2", "--output_dir", place(out)]


def result(folder, out):
    """What must not depend on kills."""
    def content(*parts):
        with open(os.path.join(folder, out, *parts), "rb") as f:
            return f.read()

    state = json.loads(content("trainer_state.json"))
    for entry in state["log_history"]:
        for key in list(entry):
            if key.endswith(("_runtime", "_per_second", "_seconds_per_step", "_seconds")):
                del entry[key]
    return {
        "model.safetensors": content("model.safetensors"),
        "checkpoint/model.safetensors": content(f"checkpoint-{STEPS}", "model.safetensors"),
        "checkpoint/optimizer.safetensors": content(f"checkpoint-{STEPS}", "optimizer.safetensors"),
        "trainer_state.json": json.dumps(state, sort_keys=True).encode(),
    }


def names(path, bucket=False):
    """What a folder holds; of a bucket, checkpoints that are being written end with .tmp-."""
    if SERVER and bucket:
        prefix = os.path.basename(path) + "/"
        with urllib.request.urlopen(f"{SERVER}/storage/v1/b/kills/o?prefix={urllib.parse.quote(prefix)}") as answer:
            found = [o["name"][len(prefix):].split("/") for o in json.load(answer).get("items", [])]
        unfinished = {n[0] for n in found if n[-1] == "hone_unfinished.json"}
        return [n + ".tmp-" if n in unfinished else n for n in sorted({n[0] for n in found})]
    try:
        return os.listdir(path)
    except FileNotFoundError:
        return []


def unreadable(path):
    """What a reader would stumble over: a checkpoint or a model that is there and not whole."""
    for name in names(path):
        folder = os.path.join(path, name)
        if name == "model.safetensors" and not whole_safetensors(folder):
            return name
        if not name.startswith("checkpoint-") or not name[len("checkpoint-"):].isdigit():
            continue
        inside = names(folder)
        if SERVER and "hone_unfinished.json" in inside and "hone_manifest.json" not in inside:
            continue  # it says itself that it is not there yet
        try:
            with open(os.path.join(folder, "hone_manifest.json")) as f:
                files = json.load(f)["files"]
            for file, facts in files.items():
                if os.path.getsize(os.path.join(folder, file)) != facts["bytes"]:
                    return f"{name}/{file}"
            if not whole_safetensors(os.path.join(folder, "model.safetensors")):
                return f"{name}/model.safetensors"
        except (OSError, ValueError, KeyError) as e:
            return f"{name}: {e}"
    return ""


def whole_safetensors(path):
    with open(path, "rb") as f:
        length = int.from_bytes(f.read(8), "little")
        header = json.loads(f.read(length))
    end = max(t["data_offsets"][1] for name, t in header.items() if name != "__metadata__")
    return os.path.getsize(path) == 8 + length + end


def last_words(path):
    """Of a log: is its run in the middle of an evaluation?"""
    with open(path) as f:
        text = f.read()
    steps = text.rfind("train       step ")
    return any(text[steps:].startswith(f"train       step {n}/") for n in EVALUATED) and "evaluated" not in text[steps:]


def wait_for_moment(rng, kind, process, path, seconds, log_bytes):
    """Returns when the moment has come or the process has ended."""
    began = time.monotonic()
    if kind in ("clock", "start"):
        until = began + seconds * rng.random() * (1 if kind == "clock" else 0.3)
        while process.poll() is None and time.monotonic() < until:
            time.sleep(min(0.002, max(0.0, until - time.monotonic())))
        return
    if kind == "log":  # after a random share of what a whole run prints
        until = os.path.getsize(path + ".log") + rng.random() * log_bytes
        while process.poll() is None and os.path.getsize(path + ".log") < until:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.01))
        return
    if kind == "evaluation":
        with open(path + ".log") as log:
            log.seek(0, os.SEEK_END)
            heard = ""
            while process.poll() is None and not any(f" step {n}/" in heard for n in EVALUATED):
                heard += log.read()
                time.sleep(0.0005)
        time.sleep(rng.uniform(0, 0.05))
        return
    first = {n for n in names(path, True) if n.startswith("checkpoint-")}
    skip = rng.randint(0, 2)  # saves that may pass
    seen = set()
    while process.poll() is None:
        now = names(path, True)
        if kind == "save":
            seen.update(n for n in now if ".tmp-" in n and n not in first)
            if len(seen) > skip:
                break
        elif f"checkpoint-{STEPS}" in now:  # final model and results come next
            break
    time.sleep(rng.choice([0, rng.uniform(0, 0.002), rng.uniform(0, 0.02)]))


def start(argv, folder, log):
    return subprocess.Popen(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def round_of_kills(rng, hone, folder, out, seconds, log_bytes, counts):
    log_path = os.path.join(folder, out + ".log")
    kills = rng.randint(1, 4)
    story = []
    with open(log_path, "wb") as log:
        for attempt in range(kills + 1):
            placed = placement(rng)
            process = start(command(hone, out) + placed, folder, log)
            if attempt < kills:
                kind = rng.choice(["start", "clock", "log", "evaluation", "evaluation", "save", "save", "final"])
                number = rng.choice([signal.SIGKILL] * 4 + [signal.SIGTERM, signal.SIGINT])
                wait_for_moment(rng, kind, process, os.path.join(folder, out), seconds, log_bytes)
                if process.poll() is None:
                    process.send_signal(number)
                    counts[kind] = counts.get(kind, 0) + 1
                    counts["(offloaded)"] = counts.get("(offloaded)", 0) + ("nvme" in placed)
                    counts["(in evaluation)"] = counts.get("(in evaluation)", 0) + last_words(log_path)
                status = process.wait()
                # A signal before the handlers stand, or after the last step, ends the program as usual.
                allowed = {0, -number} if number == signal.SIGKILL else {0, 128 + number, -number}
                story.append(f"{kind}:{number.name}:{status}")
                bring(hone, folder, out)
                if left := names(os.path.join(folder, OFFLOADED)):
                    return f"left of what was offloaded after {number.name}: {left}", story
                if broken := unreadable(os.path.join(folder, out)):
                    return f"not readable after {number.name}: {broken}", story
                if status not in allowed:
                    return f"status {status} after {number.name}", story
                if status == 128 + number and not any(n.startswith("checkpoint-") for n in names(os.path.join(folder, out))):
                    with open(log_path) as f:  # it may have come before the first step
                        if "after step 0 of" not in f.read():
                            return f"{number.name} left no checkpoint", story
                if status == 0 and attempt + 1 < kills and rng.random() < 0.5:
                    break
            else:
                status = process.wait()
                if status != 0:
                    return f"the last run ended with {status}", story
    bring(hone, folder, out)
    left = [n for n in names(os.path.join(folder, out), True) if any(mark in n for mark in (".tmp", "-tmp", ".old", ".del"))]
    return (f"leftovers: {left}" if left else ""), story


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--moments", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--bucket", action="store_true")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    hone = os.path.abspath(options.hone)
    print(f"seed {options.seed}", flush=True)
    rng = random.Random(options.seed)
    folder = tempfile.mkdtemp(prefix="hone_kill_")
    try:
        prepare(folder)
        with open(os.path.join(folder, "whole.log"), "wb") as log:
            began = time.monotonic()
            if start(command(hone, "whole"), folder, log).wait() != 0:
                print(open(log.name).read())
                return 1
            seconds = time.monotonic() - began
        log_bytes = os.path.getsize(os.path.join(folder, "whole.log"))
        if options.bucket:
            use_bucket()
        wanted = result(folder, "whole")
        counts = {}
        number = 0
        while sum(n for kind, n in counts.items() if kind[0] != "(") < options.moments:
            number += 1
            out = f"round{number}"
            wrong, story = round_of_kills(rng, hone, folder, out, seconds, log_bytes, counts)
            if not wrong:
                found = result(folder, out)
                wrong = ", ".join(f"{name} differs" for name in wanted if wanted[name] != found[name])
            if wrong:
                print(f"round {number} ({' '.join(story)}): {wrong}")
                print(open(os.path.join(folder, out + ".log")).read())
                if "trainer_state.json differs" in wrong:
                    print(wanted["trainer_state.json"].decode(), found["trainer_state.json"].decode(), sep="\n")
                return 1
            if options.keep:
                print(" ".join(story), flush=True)
            shutil.rmtree(os.path.join(folder, out))
        print(f"{number} rounds, killed {sum(n for kind, n in counts.items() if kind[0] != '(')} times ({counts}): "
              "no unreadable folder, bits of the run never killed")
        return 0
    finally:
        if options.keep:
            print(f"kept {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
