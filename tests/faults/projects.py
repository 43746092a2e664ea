#!/usr/bin/env python3
# nightly: --all
"""The projects of hone init as their README says: the pipeline runs unchanged, its line for the shell asks the endpoint, and
its last line stops it.

    tests/faults/projects.py --hone build/hone [--all] [--task mlm]

--all: each task; else one whose request needs a mask, one that needs two texts, and one whose rows have no text.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from checks import Fault, clean_environment, demand  # noqa: E402


class User:
    """Has hone and nothing else."""

    def __init__(self, program, folder):
        self.folder = folder
        os.symlink(program, os.path.join(folder, "hone"))
        self.environment = clean_environment(folder, os.path.join(folder, "hone"), NO_PROXY="*")

    def shell(self, line, status=0, within="."):
        done = subprocess.run(["sh", "-c", line], cwd=os.path.join(self.folder, within), env=self.environment, capture_output=True,
                              text=True, timeout=600)
        demand(done.returncode == status, line, done.returncode, done.stdout, done.stderr)
        return done.stdout, done.stderr


def tasks_of(home):
    _, said = home.shell("hone init none", status=2)
    return re.search(r"is not one of (.*)", said)[1].replace(",", "").split()


def name_of(task):
    """The model and the endpoint of its project."""
    return task.replace("_", "-")


def check(home, task):
    """What the end of the run says."""
    _, said = home.shell(f"hone init {task}")
    home.shell(re.search(r"^project +\S+: (.*)$", said, re.M)[1].replace("pipeline.json", "pipeline.json --dry_run"))
    told, said = home.shell("hone pipeline run pipeline.json", within=task)
    demand(re.search(r"^evaluate +\S+ \S+ \((95 % interval \S+ to \S+, \d+|the same in all \d+) rows\)$", said, re.M), "no metric has an interval", said)
    shown = json.loads(home.shell(f"hone models show {name_of(task)}@champion --json")[0])
    demand(shown["version"] == 1, shown)
    with open(os.path.join(home.folder, task, "README.md"), encoding="utf-8") as f:
        demand("endpoint=..." in f.read() and "endpoint=" in told, "README.md and the run differ", told, said)
    ask = re.search(r"^ask +(curl .*?)^stop +(hone .*?)$", said, re.M | re.S)
    demand(ask, said)
    answer = json.loads(home.shell(ask[1])[0])
    demand(len(answer["predictions"]) == 1, answer)
    home.shell(ask[2])
    home.shell(ask[1], status=7)  # nobody listens
    return json.dumps(answer["predictions"][0])[:60]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(ROOT, "build", "hone"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--task")
    options = parser.parse_args()
    if not shutil.which("curl"):
        print("skipped: there is no curl")
        return 77
    folder = tempfile.mkdtemp(prefix="hone_projects_")
    home = User(os.path.realpath(options.hone), folder)
    asked = tasks_of(home) if options.all else [options.task] if options.task else ["mlm", "qa", "kto"]
    try:
        for task in asked:
            print(f"{task:<16} {check(home, task)}", flush=True)
        return 0
    except Fault as fault:
        print(fault)
        return 1
    finally:
        for task in asked:
            subprocess.run([os.path.join(folder, "hone"), "endpoints", "delete", name_of(task)], env=home.environment, capture_output=True,
                           check=False)
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
