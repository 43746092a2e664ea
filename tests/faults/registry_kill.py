#!/usr/bin/env python3
# nightly: --kills 200
"""Kills `hone models` at random moments (kill -9) while it registers, promotes, rolls back and decides: nothing may
be half-visible, the database must be whole, aliases must name versions that are there, and the same command typed
again must end as if it had never been killed.

    tests/faults/registry_kill.py --hone build/hone [--kills 50] [--seed N]

Then a locked database, a full disk (as far as a limit on the size of files is one), a damaged file, and writers side
by side: one error each, or none, and nothing lost.
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


def demand(condition, text):
    if not condition:
        sys.exit(f"registry_kill: {text}")


class Test:
    def __init__(self, hone, folder, seed):
        self.hone, self.folder, self.rng = hone, folder, random.Random(seed)
        self.made = 0
        with open(self.path("policy.json"), "w", encoding="utf-8") as f:
            json.dump({"metric": "score", "bootstrap_samples": 100000, "parity": {"rows": 0}}, f)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def command(self, *args):
        return [self.hone, "models", *args, "--registry", self.path("r.db")]

    def run(self, *args, **options):
        return subprocess.run(self.command(*args), capture_output=True, text=True, timeout=120, **options)

    def json(self, *args):
        done = self.run(*args, "--json")
        demand(done.returncode == 0, f"{args}: {done.stderr}")
        return json.loads(done.stdout)

    def model(self, better):
        """A folder with some bytes as a model, and rows whose scores are high or low."""
        self.made += 1
        folder = self.path(f"m{self.made}")
        os.makedirs(folder)
        with open(os.path.join(folder, "model.safetensors"), "wb") as f:
            f.write(self.rng.randbytes(200_000))
        with open(os.path.join(folder, "all_results.json"), "w", encoding="utf-8") as f:
            json.dump({"eval_score": self.made}, f)
        with open(os.path.join(folder, "eval_examples.jsonl"), "w", encoding="utf-8") as f:
            for i in range(20):
                f.write(json.dumps({"id": f"d-{i}", "scores": {"score": self.made + i if better else -i}}) + "\n")
        return folder

    def seconds_of(self, *args):
        begin = time.monotonic()
        done = self.run(*args)
        demand(done.returncode == 0, f"{args}: {done.stderr}")
        return time.monotonic() - begin

    def killed(self, args, seconds):
        """True where the command was still running."""
        child = subprocess.Popen(self.command(*args), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(self.rng.uniform(0, 1.1 * seconds))
        child.send_signal(signal.SIGKILL)
        return child.wait() == -signal.SIGKILL

    def whole(self):
        """What the database says, after it was found whole."""
        db = sqlite3.connect(self.path("r.db"))
        demand(db.execute("PRAGMA integrity_check").fetchone() == ("ok",), "integrity_check")
        demand(not db.execute("PRAGMA foreign_key_check").fetchall(), "an alias or decision names nothing")
        versions = db.execute("SELECT number, source, hash, metrics, evaluation FROM hone_versions ORDER BY number").fetchall()
        for n, (number, source, hash_, metrics, evaluation) in enumerate(versions, 1):
            demand(number == n, f"version {number} follows {n - 1}")
            with open(os.path.join(source, "all_results.json"), encoding="utf-8") as f:
                demand(json.loads(metrics) == json.load(f), f"metrics of version {n}")
            demand(hash_.startswith("sha256:") and evaluation == source, f"version {n} is not whole")
        alias = db.execute("SELECT version FROM hone_aliases WHERE alias = 'champion'").fetchone()
        changes = db.execute("SELECT version FROM hone_alias_changes ORDER BY id").fetchall()
        demand((changes[-1] if changes else None) == alias, f"champion is {alias}, its history ends with {changes[-1:]}")
        decisions = db.execute("SELECT version, verdict FROM hone_decisions ORDER BY id").fetchall()
        promoted = [v for v, verdict in decisions if verdict == "promote"]
        demand(all((v,) in changes for v in promoted), "a decision promoted nothing")
        db.close()
        return {"versions": len(versions), "champion": alias and alias[0], "decisions": len(decisions)}

    def kills(self, count):
        done, hit, rolled = 0, 0, 0
        register = ("register", "--name", "news", "--model")
        times = {"register": self.seconds_of(*register, self.model(True))}
        decide = ("decide", "--name", "news", "--policy", self.path("policy.json"))
        self.seconds_of(*decide)
        self.seconds_of(*register, self.model(True))
        times["decide"] = self.seconds_of(*decide)
        times["promote"] = self.seconds_of("promote", "news:1")
        while hit < count:
            done += 1
            demand(done < 20 * count, f"only {hit} of {done} commands were still running when they were killed")
            before = self.whole()
            better = self.rng.random() < 0.6
            folder = self.model(better)
            kind = self.rng.choice(["register", "decide", "promote", "rollback"])
            if kind == "register":
                hit += self.killed((*register, folder), times["register"])
                seen = self.whole()
                demand(seen["versions"] - before["versions"] in (0, 1), "a version is there twice")
                v = self.json(*register, folder)
                demand(v["version"] == before["versions"] + 1, f"{v['version']} after {before}")
                demand(self.whole()["versions"] == v["version"], "registered twice")
                continue
            number = self.json(*register, folder)["version"]
            if kind == "decide":
                hit += self.killed(decide, times["decide"])
                seen = self.whole()
                demand(seen["champion"] in (before["champion"], number), f"champion is {seen['champion']}")
                demand((seen["champion"] == number) <= (seen["decisions"] > before["decisions"]), "promoted without a decision")
                verdict = self.json(*decide)["verdict"]
                demand(verdict == ("promote" if better else "refuse"), f"{verdict} of a model that is better: {better}")
                demand(self.whole()["champion"] == (number if better else before["champion"]), "not promoted")
            elif kind == "promote":
                hit += self.killed(("promote", f"news:{number}"), times["promote"])
                demand(self.whole()["champion"] in (before["champion"], number), "champion is another one")
                self.json("promote", f"news:{number}")
                demand(self.whole()["champion"] == number, "not promoted")
            else:
                self.json("promote", f"news:{number}")
                hit += self.killed(("rollback", "news"), times["promote"])
                if self.whole()["champion"] == number:
                    self.json("rollback", "news")
                    rolled += 1
                demand(self.whole()["champion"] == before["champion"], "rolled back to another one")
        print(f"registry_kill: {hit} of {done} commands killed while they ran, {self.whole()}", flush=True)

    def locked(self):
        other = sqlite3.connect(self.path("r.db"), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        environment = {**os.environ, "HONE_REGISTRY_TIMEOUT": "1"}
        begin = time.monotonic()
        done = self.run("promote", "news:1", env=environment)
        demand(done.returncode == 1 and done.stderr.count("H3132") == 1, done.stderr)
        demand(1 <= time.monotonic() - begin < 20, "the timeout is another one")
        demand(self.run("list", env=environment).returncode == 0, "a reader waits for a writer")
        other.execute("COMMIT")
        other.close()
        demand(self.run("promote", "news:1", env=environment).returncode == 0, "still locked")
        print("registry_kill: a locked database is one error, readers do not wait", flush=True)

    def full_disk(self):
        before = self.whole()
        size = max(os.path.getsize(self.path(n)) for n in os.listdir(self.folder) if n.startswith("r.db"))
        failed = 0
        for limit in range(1024, size + 40960, 4096):
            folder = self.model(True)
            done = self.run("register", "--name", "news", "--model", folder,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            if done.returncode:
                failed += 1
                demand(done.returncode == 1 and done.stderr.count("H3133") == 1, done.stderr)
            demand(self.whole()["versions"] == before["versions"] + (done.returncode == 0), f"limit {limit}: {done.stderr}")
            before = self.whole()
        demand(failed > 0, "no limit was low enough")
        self.json("register", "--name", "news", "--model", self.model(True))
        print(f"registry_kill: {failed} writes to a full disk are one error each, nothing is lost", flush=True)

    def side_by_side(self):
        before = self.whole()["versions"]
        folders = [self.model(True) for _ in range(8)]
        running = [subprocess.Popen(self.command("register", "--name", "news", "--model", f), stderr=subprocess.PIPE, text=True)
                   for f in folders]
        for r in running:
            errors = r.communicate(timeout=120)[1]
            demand(r.returncode == 0, errors)
        demand(self.whole()["versions"] == before + len(folders), "a version is lost")
        # New databases, which every program wants to make.
        for i in range(20):
            place = self.path(f"new{i}.db")
            running = [subprocess.Popen([self.hone, "models", "list", "--registry", place], stderr=subprocess.PIPE, text=True)
                       for _ in range(8)]
            for r in running:
                errors = r.communicate(timeout=120)[1]
                demand(r.returncode == 0, errors)
        print("registry_kill: programs side by side lose nothing", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(1 << 30)
    print(f"registry_kill: --seed {seed}", flush=True)
    folder = tempfile.mkdtemp(prefix="hone_registry_")
    try:
        test = Test(os.path.abspath(options.hone), folder, seed)
        test.kills(options.kills)
        test.locked()
        test.full_disk()
        test.side_by_side()
        return 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
