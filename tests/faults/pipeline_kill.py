#!/usr/bin/env python3
# nightly: --moments 200
"""Kills a pipeline, or the command of one of its steps, at random moments (kill -9), and types the same command
again until it ends: the artifacts must be those of a run that was never killed, no step may run twice to its end,
no two commands may ever run at the same time, and nothing half-written may show.

    tests/faults/pipeline_kill.py --hone build/hone [--moments 6] [--seed N] [--only kills]

Then a full disk (as far as a limit on the size of files is one), a state file that another program keeps locked,
and one that is damaged: one error each, and the same command continues.
"""
import argparse
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from checks import Fault, demand  # noqa: E402

FAKE = os.path.join(SOURCE, "tests", "support", "fake_hone.py")
STEPS = ["pull", "check", "prepare", "train", "eval", "register", "decide", "deploy"]


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(c) for c in f.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


class Kill:
    def __init__(self, hone, folder, rng):
        self.hone, self.folder, self.rng = hone, folder, rng
        with open(self.path("rows.jsonl"), "w", encoding="utf-8") as f:
            f.write('{"article": "a", "highlights": "b"}\n' * 50)
        with open(self.path("news.json"), "w", encoding="utf-8") as f:
            json.dump({"dataset": "rows.jsonl", "model_checkpoint": "t5-small", "epochs": 2, "model_display_name": "news"}, f)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def command(self, root, *more):
        return [self.hone, "pipeline", "run", "news.json", "--pipeline_root", root, "--run", "r", "--hone_program", FAKE, *more]

    def start(self, root, log, seconds, **options):
        env = {**os.environ, "FAKE_LOG": self.path(log), "FAKE_SECONDS": str(seconds), "HOME": self.folder}
        with open(self.path("printed"), "ab") as printed:
            return subprocess.Popen(self.command(root), cwd=self.folder, env=env, stdout=printed, stderr=printed, **options)

    def printed(self):
        with open(self.path("printed"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def artifacts(self, root):
        """What the steps wrote, and nothing of a step without its description."""
        found = {}
        base = self.path(root, "r")
        for step in sorted(os.listdir(base)):
            if step in ("logs", "run.json", ".lock") or step.endswith(".json"):
                continue
            demand("." not in step, f"{step} is left in {base}")
            with open(os.path.join(base, step + ".json"), encoding="utf-8") as f:
                described = {x["path"]: x["bytes"] for x in json.load(f)["files"]}
            for folder, _, names in os.walk(os.path.join(base, step)):
                for name in names:
                    path = os.path.join(folder, name)
                    inside = os.path.relpath(path, os.path.join(base, step))
                    demand(described.get(inside) == os.path.getsize(path), f"{path} is not as described")
                    with open(path, "rb") as f:
                        found[os.path.join(step, inside)] = f.read()
        return found

    def watch(self, root):
        """While a run is at work: what shows is whole."""
        base = self.path(root, "r")
        for step in os.listdir(base) if os.path.isdir(base) else []:
            if step.endswith(".json") and step != "run.json":
                with open(os.path.join(base, step), encoding="utf-8") as f:
                    described = json.load(f)
                for file in described["files"]:
                    path = os.path.join(base, step[:-5], file["path"])
                    demand(os.path.getsize(path) == file["bytes"], f"half of {path} shows")

    def kills(self, moments):
        run = self.start("whole", "whole.log", 0.1)
        demand(run.wait() == 0, self.printed())
        wanted = self.artifacts("whole")
        demand(len(wanted) >= 6, f"artifacts {sorted(wanted)}")
        killed = rounds = 0
        while killed < moments:
            rounds += 1
            root, log = f"round{rounds}", f"round{rounds}.log"
            again = 0  # commands and guards killed: one that had ended, but was not noted yet, runs again
            for _ in range(100):
                run = self.start(root, log, 0.12)
                time.sleep(self.rng.random() * 1.6)
                just_ended = self.rng.random() < 0.4  # a moment that is rare: a command has just ended
                if just_ended:
                    ends = self.ends(log)
                    while run.poll() is None and self.ends(log) == ends:
                        time.sleep(0.001)
                    time.sleep(self.rng.choice([0, 0, 0.002, 0.02]))
                guards = children_of(run.pid)
                commands = [c for g in guards for c in children_of(g)]
                victims = [run.pid]
                if not just_ended and self.rng.random() < 0.5:
                    victims = self.rng.choice([commands, commands, guards]) or victims
                if run.poll() is None and killed < moments:
                    for pid in victims:
                        try:
                            os.kill(pid, signal.SIGKILL)
                            killed += 1
                            again += pid != run.pid
                        except ProcessLookupError:
                            pass
                    if run.pid in victims:
                        run.wait()
                self.watch(root)
                if run.wait() == 0:
                    break
                demand(run.returncode in (-signal.SIGKILL, 1), f"status {run.returncode}\n{self.printed()}")
                demand("H3165" not in self.printed(), f"a dead process holds the run\n{self.printed()}")
            demand(run.returncode == 0, self.printed())
            found = self.artifacts(root)
            demand(found == wanted, f"round {rounds}: differs in {[n for n in wanted if wanted[n] != found.get(n)]}\n{self.printed()}")
            self.check_log(log, again)
            db = sqlite3.connect(self.path(root, "pipeline.db"))
            demand(db.execute("PRAGMA integrity_check").fetchone() == ("ok",), "the state is damaged")
            db.close()
            shutil.rmtree(self.path(root))
            os.remove(self.path("printed"))
        print(f"killed {killed} times in {rounds} runs: artifacts of the run never killed, no step ended twice", flush=True)

    def ends(self, log):
        try:
            with open(self.path(log), encoding="utf-8") as f:
                return f.read().count(" end ")
        except FileNotFoundError:
            return 0

    def check_log(self, log, again):
        with open(self.path(log), encoding="utf-8") as f:
            lines = [line.split() for line in f]
        more = 0
        for step in STEPS:
            ended = sum(1 for name, event, _ in lines if name == step and event == "end")
            demand(ended >= 1, f"{step} never ran to its end: {lines}")
            more += ended - 1
        demand(more <= again, f"{more} steps ran to their end again, {again} commands and guards were killed: {lines}")
        # A command that begins finds every earlier one of another pipeline process gone: its end never follows.
        for at, (name, event, parent) in enumerate(lines):
            if event == "begin":
                late = [l for l in lines[at + 1:] if l[1] == "end" and l[2] != parent and l[2] in {p for _, _, p in lines[:at]}]
                demand(not late, f"two writers: {late} after {name} of {parent}")

    def full_disk(self):
        run = self.start("full", "full.log", 0.05, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)))
        demand(run.wait() == 1, f"status {run.returncode}")
        said = self.printed()
        demand("H3164" in said or "H3163" in said or "H010" in said, said)
        run = self.start("full", "full.log", 0.05)
        demand(run.wait() == 0, self.printed())
        self.artifacts("full")
        print("full disk: an error, and the same command continues", flush=True)

    def locked(self):
        run = self.start("locked", "locked.log", 0.5)
        while self.ends("locked.log") < 1 and run.poll() is None:
            time.sleep(0.01)
        db = sqlite3.connect(self.path("locked", "pipeline.db"), isolation_level=None, timeout=10)
        db.execute("BEGIN EXCLUSIVE")
        time.sleep(1.5)
        demand(run.poll() is None, "a lock of a moment ended the run\n" + self.printed())
        db.execute("COMMIT")
        db.close()
        demand(run.wait() == 0, self.printed())
        print("locked: the run waits", flush=True)

    def damaged(self):
        run = self.start("damaged", "damaged.log", 0)
        demand(run.wait() == 0, self.printed())
        with open(self.path("damaged", "pipeline.db"), "wb") as f:
            f.write(b"x" * 5000)
        run = self.start("damaged", "damaged.log", 0)
        demand(run.wait() == 1 and "H3164" in self.printed(), self.printed())
        print("damaged: one error", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--moments", type=int, default=6)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--only")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    folder = tempfile.mkdtemp(prefix="hone_pipeline_kill_")
    try:
        k = Kill(os.path.abspath(options.hone), folder, random.Random(options.seed))
        for name, what in (("kills", lambda: k.kills(options.moments)), ("full_disk", k.full_disk), ("locked", k.locked), ("damaged", k.damaged)):
            if options.only in (None, name):
                what()
        return 0
    except Fault as e:
        print(e)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
