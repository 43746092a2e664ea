#!/usr/bin/env python3
"""The scripts of hone ui without a browser: node reads each of them and the one script of an exported run, computes curves, facts of runs and the edges of graphs, and asks for the forms of served models.

    tests/faults/web_scripts.py --hone build/hone
"""
# fast
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PAGES = os.path.join(HERE, "..", "..", "src", "operate", "web", "pages")
CHECKS = [os.path.join(HERE, "..", "support", name) for name in ("curves.mjs", "edge_ways.mjs", "run_facts.mjs", "requests.mjs")]
SERVED = os.path.join(HERE, "..", "..", "src", "operate", "serve", "served_model.cc")


def log_of(run, lines):
    labels = {"logging.googleapis.com/labels": {"run": run}}
    return "".join(json.dumps({"severity": "INFO", "message": "", "time": "2026-05-04T12:00:00Z", **labels, **line}) + "\n" for line in lines)


def export(hone, folder):
    """The script of an exported run, and its data."""
    out = os.path.join(folder, "out")
    os.makedirs(out)
    with open(os.path.join(out, "hone_log.jsonl"), "w") as f:
        f.write(log_of("r1", [{"event": "begin", "run": {"id": "r1", "name": "</script><script>alert(1)", "begun_s": 5}},
                              {"event": "log", "metrics": {"loss": 1.5}}, {"event": "end", "status": "failed", "code": "H2404", "reason": "too large"}]))
    subprocess.run([hone, "runs", "export", "r1", "--folder", out, "--output", os.path.join(folder, "run.html")], check=True, stderr=subprocess.DEVNULL)
    with open(os.path.join(folder, "run.html")) as f:
        text = f.read()
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", text, re.DOTALL)
    if [attributes for attributes, _ in scripts] != [' type="application/json" id="kept"', ' type="module"']:
        sys.exit(f"an exported run has the scripts {[attributes for attributes, _ in scripts]}")
    return json.loads(scripts[0][1]), scripts[1][1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(HERE, "..", "..", "build", "hone"))
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hone_scripts_")
    try:
        data, script = export(os.path.abspath(options.hone), folder)
        if data["run"] != "r1" or data["parts"][0]["points"][0]["metrics"] != {"loss": 1.5} or not data["error_page"]["text"].startswith("# H2404"):
            sys.exit(f"an exported run holds {data}")
        node = shutil.which("node") or shutil.which("nodejs")
        if not node:
            print("skipped: there is no node; Debian's package nodejs has it")
            return 77
        # Modules of their own, by their ending.
        pages = os.path.join(folder, "pages")
        shutil.copytree(PAGES, pages)
        with open(os.path.join(pages, "exported.js"), "w") as f:
            f.write(script)
        with open(os.path.join(pages, "package.json"), "w") as f:
            f.write('{"type": "module"}')
        for name in sorted(n for n in os.listdir(pages) if n.endswith(".js")):
            read = subprocess.run([node, "--check", os.path.join(pages, name)], capture_output=True, text=True)
            if read.returncode:
                sys.exit(f"{name}: {read.stderr}")
        return max(subprocess.run([node, check, pages, SERVED]).returncode for check in CHECKS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
