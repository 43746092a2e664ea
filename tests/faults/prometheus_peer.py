#!/usr/bin/env python3
# fast
"""The metrics that hone train serves, scraped while it trains and judged by promtool (Debian: prometheus).

    tests/faults/prometheus_peer.py --hone build/hone
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from kill_resume import command, prepare
from store_peers import free_port

WANTED = ("hone_train_step ", "hone_train_loss ", "hone_train_step_seconds_bucket{", "hone_run_info{",
          "hone_memory_planned_bytes ", "process_cpu_seconds_total ", "hone_machine_memory_bytes ")


def scrape(port, run):
    """The text once training is under way."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while run.poll() is None:
        try:
            with opener.open(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                text = answer.read().decode()
            if "\nhone_train_steps_total 0" not in text and "\nhone_train_steps_total " in text:
                return text
        except urllib.error.URLError:
            pass
        time.sleep(0.01)
    sys.exit(f"the run ended with {run.returncode} before it was seen to train")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(os.path.dirname(__file__), "..", "..", "build", "hone"))
    options = parser.parse_args()
    if not shutil.which("promtool"):
        print("skipped: there is no promtool; Debian's package prometheus has it")
        return 77
    folder = tempfile.mkdtemp(prefix="hone_prometheus_")
    try:
        prepare(folder)
        port = free_port()
        run = subprocess.Popen(command(os.path.abspath(options.hone), "out") + ["--max_steps", "100000", "--metrics_port", str(port)],
                               cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            text = scrape(port, run)
        finally:
            run.kill()
            run.wait()
        missing = [name for name in WANTED if "\n" + name not in text]
        if missing:
            sys.exit(f"not served: {missing}\n{text}")
        judged = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
        if judged.returncode or judged.stdout.strip() or judged.stderr.strip():
            sys.exit(f"promtool: {judged.stdout}{judged.stderr}")
        print(f"promtool has nothing to say about {text.count('# TYPE ')} metrics")
        return 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
