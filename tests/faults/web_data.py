#!/usr/bin/env python3
# fast
"""Data files that hone ui must not be hurt by: pipes, one row that unpacks to hundreds of megabytes, a row group of parquet that does, files that take long.

    tests/faults/web_data.py --hone build/hone

Counted: seconds until a request of another page is answered meanwhile, megabytes of memory at most, and workers that are
free again after their browsers left.
"""
import argparse
import gzip
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

WORKERS, ROW_MB, MOST_MB, SOON = 8, 1500, 300, 5


def demand(condition, text):
    if not condition:
        sys.exit(text)


def write_row(path, megabytes):
    """One row: {"text": "aaaa..."}."""
    with gzip.open(path, "wb", compresslevel=1) as f:
        f.write(b'{"text": "')
        for _ in range(megabytes):
            f.write(b"a" * (1 << 20))
        f.write(b'"}\n')


def write_group(path, megabytes):
    """One row group of rows of 8 MB, the same text in each: a small file. False: there is no pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        return False
    texts = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * (megabytes // 8), pyarrow.int32()), pyarrow.array(["a" * (8 << 20)]))
    pyarrow.parquet.write_table(pyarrow.table({"text": texts}), path, store_schema=False)
    return True


def peak_mb(pid):
    return int(re.search(r"VmHWM:\s+(\d+) kB", open(f"/proc/{pid}/status").read())[1]) / 1024


class Ui:
    def __init__(self, hone, folder):
        log = open(os.path.join(folder, "log"), "w")
        self.process = subprocess.Popen([hone, "ui", "--folder", folder, "--port", "0"], stderr=log, stdout=log, cwd=folder)
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)", open(log.name).read())):
            demand(self.process.poll() is None, open(log.name).read())
            time.sleep(0.02)
        self.port = int(found[1])

    def get(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as e:
            return e.code, json.load(e)

    def seconds(self, path):
        begin = time.monotonic()
        self.get(path)
        return time.monotonic() - begin

    def leave(self, path):
        """A browser that asks and goes away."""
        with socket.create_connection(("127.0.0.1", self.port)) as s:
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
            time.sleep(0.3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hone", default="build/hone")
    hone = os.path.abspath(parser.parse_args().hone)
    os.environ["no_proxy"] = "127.0.0.1"
    with tempfile.TemporaryDirectory(prefix="hone_web_") as folder:
        for pipe in ("pipe.jsonl", "hone_log.jsonl"):
            os.mkfifo(os.path.join(folder, pipe))
        os.makedirs(os.path.join(folder, "model"))
        os.mkfifo(os.path.join(folder, "model", "tokenizer.json"))
        with open(os.path.join(folder, "model", "config.json"), "w") as f:
            f.write('{"model_type": "gpt2"}')
        has_parquet = write_group(os.path.join(folder, "group.parquet"), ROW_MB)
        write_row(os.path.join(folder, "bomb.jsonl.gz"), ROW_MB)
        with gzip.open(os.path.join(folder, "long.jsonl.gz"), "wt", compresslevel=1) as f:
            for _ in range(300):
                f.write('{"text": "some words"}\n' * 20000)
        with open(os.path.join(folder, "good.jsonl"), "w") as f:
            f.write('{"text": "some words"}\n')
        ui = Ui(hone, folder)
        try:
            for path in ("/api/data?file=pipe.jsonl", "/api/data?file=good.jsonl&model=model&task=clm", "/api/runs"):
                threads = [threading.Thread(target=ui.get, args=(path,), daemon=True) for _ in range(2 * WORKERS)]
                for t in threads:
                    t.start()
                for t in threads:
                    t.join(SOON)
                demand(not any(t.is_alive() for t in threads), f"{path}: workers hang")
            names = [f for f in ui.get("/api/data")[1]["files"]]
            demand("good.jsonl" in names and "pipe.jsonl" not in names, f"files: {names}")
            demand(ui.get("/api/data?file=good.jsonl")[0] == 200, "a good file is not shown")

            before = peak_mb(ui.process.pid)
            status, answer = ui.get("/api/data?file=bomb.jsonl.gz")
            demand(status == 400 and answer["code"] == "H2118", f"{status}: {answer}")
            demand(peak_mb(ui.process.pid) - before < MOST_MB, f"{peak_mb(ui.process.pid) - before:.0f} MB for one row")

            if has_parquet:
                before = peak_mb(ui.process.pid)
                status, answer = ui.get("/api/data?file=group.parquet&count=5")
                demand(status == 400 and answer["code"] == "H2118", f"{status}: {str(answer)[:300]}")
                demand(peak_mb(ui.process.pid) - before < MOST_MB, f"{peak_mb(ui.process.pid) - before:.0f} MB for one row group")

            whole = ui.seconds("/api/data?file=long.jsonl.gz&from=1000000")
            for _ in range(2 * WORKERS):
                ui.leave("/api/data?file=long.jsonl.gz&from=1000000")
            waited = ui.seconds("/api/data?file=good.jsonl")
            demand(waited < max(1.0, whole), f"{waited:.1f} s after the browsers left; such a request takes {whole:.1f} s")
            print(f"skipping a million rows {whole:.1f} s, after {2 * WORKERS} browsers left {waited:.2f} s, "
                  f"memory at most {peak_mb(ui.process.pid):.0f} MB")
        finally:
            ui.process.terminate()
            demand(ui.process.wait(SOON) == 0, "hone ui does not end")


main()
