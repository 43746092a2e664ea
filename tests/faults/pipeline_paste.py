#!/usr/bin/env python3
# fast
"""The commands of finished steps that the page Pipelines offers, typed in a shell: each ends well, also a second time, and
changes no file of a run. One run did all its steps, and one took most of them from the
first. The pasted commands make the same shards and weights as the run.

    tests/faults/pipeline_paste.py --hone build/hone
"""
import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from checks import Fault, clean_environment, demand  # noqa: E402

PROJECT = "news"
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def files_of(folder):
    """What tells whether a file was written since."""
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            about = os.stat(path)
            with open(path, "rb") as f:
                found[os.path.relpath(path, folder)] = (about.st_ino, about.st_mtime_ns, f.read())
    return found


def check_same(project, run):
    """The pasted training and preparation made what the run made."""
    for made in "train/model.safetensors", "preprocess/train/data-00000.arrow":
        contents = []
        for above in "runs", "again":
            with open(os.path.join(project, above, run, made), "rb") as f:
                contents.append(f.read())
        demand(contents[0] == contents[1], f"{made} of {run} and of the pasted command differ")


class Page:
    def __init__(self, hone, project, env):
        self.errors = os.path.join(project, "ui.err")
        with open(self.errors, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([hone, "ui", "--port", "0"], cwd=project, env=env, stdout=log, stderr=log)
        for _ in range(600):
            with open(self.errors, encoding="utf-8") as log:
                found = re.search(r"http://\S+", log.read())
            if found:
                self.url = found[0]
                return
            demand(self.process.poll() is None, "hone ui ended")
            time.sleep(0.05)
        raise Fault("hone ui does not listen")

    def steps(self, run):
        with OPENER.open(f"{self.url}/api/pipelines/{run}", timeout=60) as answer:
            return json.load(answer)

    def close(self):
        self.process.kill()
        self.process.wait()


def line_of(shown, step):
    """As pages/pipelines.js joins it."""
    parts = [f"cd {shlex.quote(shown['folder'])}"]
    if step.get("output_folder"):
        parts.append(f"mkdir -p {shlex.quote(step['output_folder'])}")
    return " && ".join([*parts, shlex.join(step["resolved"])])


def check_run(page, project, env, run):
    shown = page.steps(run)
    for step in shown["steps"]:
        demand(step["status"] == "done" or step["name"] == "deploy", step)
        if step["name"] == "deploy":  # starts servers
            continue
        demand(step["resolved"], f"{step['name']} has no command", step)
        before = files_of(os.path.join(project, "runs"))
        for time_of in "first", "second":
            line = line_of(shown, step)
            done = subprocess.run(["sh", "-c", line], cwd="/", env=env, capture_output=True, text=True, timeout=600, check=False)
            demand(done.returncode == 0, f"{line}\nended with {done.returncode}, the {time_of} time", done.stderr)
            after = files_of(os.path.join(project, "runs"))
            changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
            demand(not changed, f"{line}\nchanged {', '.join(changed)}")
    check_same(project, run)
    return sum(bool(step["reused_from"]) for step in shown["steps"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(ROOT, "build", "hone"))
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hone_paste_")
    hone, project, page = os.path.join(folder, "hone"), os.path.join(folder, PROJECT), None
    os.symlink(os.path.realpath(options.hone), hone)
    env = clean_environment(folder, hone, NO_PROXY="*")
    try:
        subprocess.run([hone, "init", "classification", "--dir", project], env=env, check=True, capture_output=True)
        for run in "one", "two":
            done = subprocess.run([hone, "pipeline", "run", "pipeline.json", "--run", run], cwd=project, env=env, capture_output=True, text=True,
                                  check=False)
            demand(done.returncode == 0, done.stderr)
        page = Page(hone, project, env)
        reused = [check_run(page, project, env, run) for run in ("one", "two")]
        demand(reused[0] == 0 and reused[1] >= 4, f"steps taken from other runs: {reused}")
        print(f"commands of 7 steps of two runs end well and change nothing; {reused[1]} of the second were taken from the first")
        return 0
    except Fault as fault:
        print(fault)
        return 1
    finally:
        if page:
            page.close()
        subprocess.run([hone, "endpoints", "delete", PROJECT], env=env, capture_output=True, check=False)
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
