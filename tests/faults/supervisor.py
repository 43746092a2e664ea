#!/usr/bin/env python3
# nightly: --moments 100
"""Kills the training child of `hone train --restarts N` at random moments: the supervisor alone must
bring the run to its end, with the bits of a run that was never killed.

    tests/faults/supervisor.py --hone build/hone [--moments 6] [--seed N] [--bucket]

Also: SIGTERM to the supervisor saves and ends with 143, a user's mistake is not repeated, and a run
that crashes again and again without a new checkpoint is given up.
"""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import kill_resume as k


def child_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            found = f.read().split()
        return int(found[0]) if found else None
    except (FileNotFoundError, ProcessLookupError):
        return None


def supervised(hone, out, restarts):
    return k.command(hone, out) + ["--restarts", str(restarts)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(k.SOURCE, "build", "hone"))
    parser.add_argument("--moments", type=int, default=6)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--bucket", action="store_true")
    options = parser.parse_args()
    hone = os.path.abspath(options.hone)
    print(f"seed {options.seed}", flush=True)
    rng = random.Random(options.seed)
    folder = tempfile.mkdtemp(prefix="hone_supervisor_")
    try:
        k.prepare(folder)
        with open(os.path.join(folder, "whole.log"), "wb") as log:
            began = time.monotonic()
            if k.start(k.command(hone, "whole"), folder, log).wait() != 0:
                print(open(log.name).read())
                return 1
            seconds = time.monotonic() - began
        wanted = k.result(folder, "whole")
        if options.bucket:
            k.use_bucket()
        killed = rounds = 0
        while killed < options.moments:
            rounds += 1
            out = f"round{rounds}"
            with open(os.path.join(folder, out + ".log"), "wb") as log:
                run = k.start(supervised(hone, out, 1000), folder, log)
                for _ in range(rng.randint(1, 4)):
                    time.sleep(rng.random() * 0.6 * seconds)
                    child = child_of(run.pid)
                    if run.poll() is None and child:
                        try:
                            os.kill(child, rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV]))
                            killed += 1
                        except ProcessLookupError:
                            pass
                status = run.wait()
            k.bring(hone, folder, out)
            found = k.result(folder, out) if status == 0 else {}
            wrong = [name for name in wanted if wanted[name] != found.get(name)]
            if status != 0 or wrong:
                print(f"round {rounds}: status {status}, differs: {wrong}")
                print(open(os.path.join(folder, out + ".log")).read())
                return 1
            shutil.rmtree(os.path.join(folder, out))
        print(f"{rounds} rounds, killed {killed} times: each run ended by itself, bits of the run never killed")

        out = "stopped"
        with open(os.path.join(folder, "stopped.log"), "wb") as log:
            run = k.start(supervised(hone, out, 3), folder, log)
            while b"step 3/" not in open(log.name, "rb").read() and run.poll() is None:
                time.sleep(0.01)
            run.terminate()
            status = run.wait()
        k.bring(hone, folder, out)
        if status != 143 or not any(n.startswith("checkpoint-") for n in os.listdir(os.path.join(folder, out))):
            print(f"SIGTERM: status {status}", open(os.path.join(folder, "stopped.log")).read())
            return 1
        mistake = subprocess.run(supervised(hone, "mistake", 3) + ["--model_name_or_path", "nowhere/at-all"], cwd=folder,
                                 env={**os.environ, "HF_HUB_OFFLINE": "1"}, stderr=subprocess.PIPE, text=True)
        if mistake.returncode != 1 or "restart 1 of" in mistake.stderr:
            print("a mistake:", mistake.returncode, mistake.stderr)
            return 1
        with open(os.path.join(folder, "given_up.log"), "wb") as log:
            run = k.start(supervised(hone, "given_up", 1), folder, log)
            while run.poll() is None:
                child = child_of(run.pid)
                if child:
                    try:
                        os.kill(child, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                time.sleep(0.01)
            text = open(log.name).read()
        if run.returncode != 137 or "2 times in a row" not in text:
            print("given up:", run.returncode, text)
            return 1
        print("stopped, not repeated, given up: as promised")
        return 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
