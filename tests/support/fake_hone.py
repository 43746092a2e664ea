#!/usr/bin/env python3
"""Stands for hone where a test is about pipelines: each command writes what the real one would, in no time.

FAKE_LOG names a file that gets a line when a command begins and one when it ends: "train begin", "train end".
FAKE_SECONDS is how long each takes; training takes five times that. FAKE_FAIL names a command that fails while the file FAKE_LOG.fail exists.
"""
import hashlib
import json
import os
import signal
import sys
import time


def value(args, flag, other=""):
    return args[args.index(flag) + 1] if flag in args else other


def say(text):
    if os.environ.get("FAKE_LOG"):
        with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as f:
            f.write(text + "\n")


def report(error):
    os.write(int(os.environ["HONE_ERROR_FD"]), (json.dumps(error) + "\n").encode())


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def main():
    args = sys.argv[1:]
    if "--dump-config" in args or "--check" in args:
        return 0
    what = args[0] if args[0] != "models" else args[1]
    if what == "plan":
        print(json.dumps({"peak_bytes": {"device": 3 << 30}, "memory_bytes": 40 << 30, "fits": True, "seconds_per_step": 0.5}))
        return 0
    parent = os.getppid()
    say(f"{what} begin {parent}")
    if os.environ.get("FAKE_FAIL") == what and os.path.exists(os.environ["FAKE_LOG"] + ".fail"):
        report({"error": "the data has no column 'artikel'", "code": "H2109", "where": ["rows.jsonl"],
                "todo": "did you mean 'article'?"})
        return 1
    if what == "train":  # saves when it is asked to end, which takes a while
        signal.signal(signal.SIGTERM, lambda *_: (time.sleep(2), os._exit(143)))
    steps = 10
    out = value(args, "--output_dir") or value(args, "--to") or os.path.dirname(value(args, "--output", "/tmp/x"))
    begin = 0
    if what == "train":  # continues from its checkpoint
        try:
            begin = int(open(os.path.join(out, "checkpoint"), encoding="utf-8").read())
        except (FileNotFoundError, ValueError):
            pass
    for step in range(begin, steps):
        time.sleep(float(os.environ.get("FAKE_SECONDS", "0")) / steps * (5 if what == "train" else 1))
        if what == "train":
            write(os.path.join(out, "checkpoint.new"), str(step + 1))
            os.replace(os.path.join(out, "checkpoint.new"), os.path.join(out, "checkpoint"))
            print(f"training {step + 1}/{steps} left {steps - step - 1}s loss 1.5", file=sys.stderr)
    if what == "pull":
        write(os.path.join(out, "model", "config.json"), json.dumps({"model": args[1]}))
        write(os.path.join(out, "data", "train.jsonl"), open(args[2], encoding="utf-8").read() if os.path.exists(args[2]) else "")
    elif what == "check":
        print(json.dumps({"errors": 0, "warnings": 1, "findings": [
            {"level": "warning", "id": "duplicate_rows", "what": "train: 1 of 2 rows (50.0 %) are copies of rows before them",
             "where": "first rows.jsonl:2", "do": "leave the copies out: the model learns them by heart"}]}))
    elif what == "prepare":
        rows = open(os.path.join(value(args, "--dataset_name"), "train.jsonl"), encoding="utf-8").read()
        write(os.path.join(out, "data.arrow"), rows[::-1])
    elif what == "train":
        write(os.path.join(out, "all_results.json"), '{"train_loss": 1.5, "epoch": 2.0, "eval_loss": 1.25}')
        rows = open(os.path.join(value(args, "--train_file"), "data.arrow"), encoding="utf-8").read()
        write(os.path.join(out, "model.safetensors"), f"{value(args, '--num_train_epochs')} epochs of {len(rows)}")
    elif what == "eval":
        write(os.path.join(out, "all_results.json"), '{"eval_rouge1": 30.0}')
        shards = os.path.join(value(args, "--validation_file"), "data.arrow")
        if os.path.exists(shards):  # rows of other data have other ids
            data = hashlib.sha256(open(shards, "rb").read()).hexdigest()[:12]
            write(os.path.join(out, "eval_examples.jsonl"), json.dumps({"id": data + "-0"}) + "\n")
        print('{"eval_rouge1": 30.0}')
    elif what == "register":
        print(json.dumps({"name": value(args, "--name"), "version": "3", "uri": value(args, "--model"), "hash": "h"}))
    elif what == "decide":
        verdict = os.environ.get("FAKE_VERDICT", "promote")
        decision = {"verdict": verdict, "reason": "rouge1 30.0 is not below the floor 20"}
        write(value(args, "--output"), json.dumps(decision))
        print(json.dumps(decision))
    elif what == "deploy":
        print(json.dumps({"endpoint": "8123456789012345678", "endpoint_name": "news", "url": "http://127.0.0.1:8080",
                          "model": "news", "version": 3}))
    sys.stdout.flush()
    sys.stderr.flush()
    say(f"{what} end {parent}")
    os._exit(0)  # at once: a kill after this line must count as after the end


if __name__ == "__main__":
    sys.exit(main())
