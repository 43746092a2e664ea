#!/usr/bin/env python3
# fast
"""hone serve against clients that take what is everybody's: descriptors, memory, and the threads that read requests.

    tests/faults/serve_attacks.py --hone build/hone [--only descriptors]

Without a file descriptor left the server waits and takes no processor. Without a key no body is read; bodies of all
connections share one bound. Where memory ends, requests have status 503 and the server goes on. Long texts keep neither
/readyz nor anybody else waiting. One request may have 1,024 texts, however few may wait.
"""
import argparse
import gzip
import http.client
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from serve_faults import TINY, ask

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from checks import Fault, demand, free_port  # noqa: E402

MIB = 1 << 20


class Server:
    words = ["serve", "tiny=" + TINY, "--threads", "1", "--batch_size", "2", "--max_length", "48"]
    ready = "/readyz"

    def __init__(self, hone, folder, *args, limits=(), env=None, files=()):
        self.port = free_port()
        self.log = os.path.join(folder, f"log{self.port}")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [hone, *self.words, "--port", str(self.port), *args],
                stdout=log, stderr=log, cwd=folder, env={**os.environ, **(env or {})}, pass_fds=files,
                preexec_fn=lambda: [resource.setrlimit(what, (most, most)) for what, most in limits])
        for _ in range(600):
            try:
                if ask(self.port, "GET", self.ready)[0] == 200:
                    return
            except OSError:
                pass
            demand(self.process.poll() is None, self.text())
            time.sleep(0.05)
        raise Fault("the server is not ready\n" + self.text())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def text(self):
        with open(self.log) as f:
            return f.read()

    def seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as f:
            fields = f.read().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self):
        with open(f"/proc/{self.process.pid}/statm") as f:
            return int(f.read().split()[1]) * resource.getpagesize()

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        return s

    def alive(self):
        demand(self.process.poll() is None, "the server ended\n" + self.text())
        status, body = ask(self.port, "POST", "/v1/models/tiny:predict", json.dumps({"instances": ["Hello"], "parameters": {"max_new_tokens": 2}}))[:2]
        demand(status == 200, f"status {status} {body}\n{self.text()}")


class Pages(Server):
    words = ["ui", "--folder", "."]
    ready = "/api/about"

    def alive(self):
        demand(ask(self.port, "GET", "/api/runs")[0] == 200, self.text())


def head(length, *more):
    return "\r\n".join(["POST /v1/models/tiny:predict HTTP/1.1", "Host: x", f"Content-Length: {length}", *more, "", ""]).encode()


def descriptors_taken(kind, hone, folder):
    """Half of the descriptors are taken when the server starts, so that fewer are left than it takes connections."""
    taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(30)]
    try:
        with kind(hone, folder, limits=[(resource.RLIMIT_NOFILE, 64)], files=taken) as server:
            for _ in range(2):
                idle = [server.connect() for _ in range(100)]
                time.sleep(0.3)
                before = server.seconds()
                time.sleep(1)
                used = server.seconds() - before
                demand(used < 0.3, f"{kind.words[0]}: {used} s of processor in 1 s")
                for s in idle:
                    s.close()
                time.sleep(0.3)
                server.alive()
            demand(server.text().count("no file descriptor is left") == 1, server.text())
            return used
    finally:
        for number in taken:
            os.close(number)


def descriptors(hone, folder):
    most = 0
    for kind in Server, Pages:
        with kind(hone, folder, limits=[(resource.RLIMIT_NOFILE, 64)]) as server:
            demand("connections at a time, not 1024: this process may open 64 files" in server.text(), server.text())
            idle = [server.connect() for _ in range(100)]
            time.sleep(0.3)
            before = server.seconds()
            time.sleep(2)
            used = server.seconds() - before
            demand(used < 0.3, f"{kind.words[0]}: {used} s of processor in 2 s")
            demand(server.text().count("no file descriptor is left") <= 1, server.text())
            for s in idle:
                s.close()
            time.sleep(0.3)
            server.alive()
            most = max(most, used)
        most = max(most, descriptors_taken(kind, hone, folder))
    return f"{most:.2f} s of processor in 2 s with 100 connections and 64 descriptors, hone serve and hone ui"


def bodies(hone, folder):
    size = 15 * MIB
    with Server(hone, folder, env={"HONE_API_KEY": "secret"}) as server:
        before = server.resident()
        clients = []
        for i in range(150):
            s = server.connect()
            s.sendall(head(size))
            clients.append(s)
        refused = 0
        for s in clients:
            try:
                s.settimeout(30)
                s.sendall(b"x" * (64 << 10))
                refused += s.recv(100).startswith(b"HTTP/1.1 401 ")
            except OSError:
                refused += 1
            s.close()
        grown = (server.resident() - before) / MIB
        demand(refused == 150 and grown < 64, f"{refused} refused, {grown:.0f} MiB more")
        # With the key: as many as fit.
        clients, taken, full = [], 0, 0
        for i in range(40):
            s = server.connect()
            s.sendall(head(size, "X-Api-Key: secret", "Expect: 100-continue"))
            clients.append(s)
            begun = s.recv(100)
            taken += begun.startswith(b"HTTP/1.1 100 ")
            full += begun.startswith(b"HTTP/1.1 503 ")
        demand(taken == 64 // 15 and full == 40 - taken, f"{taken} bodies taken, {full} refused")
        for s in clients:
            s.close()
        return f"150 without a key: {grown:.0f} MiB more; of 40 with one {taken} at a time"


def statuses(server, *request):
    """Of 12 requests at once; 0: the connection ended."""
    seen = []

    def send():
        try:
            seen.append(ask(server.port, *request)[0])
        except (OSError, http.client.HTTPException):
            seen.append(0)

    threads = [threading.Thread(target=send) for _ in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return seen


def memory(hone, folder):
    text = json.dumps({"instances": ["a" * (15 * MIB)]}).encode()
    values = b'{"instances": [' + b'{"a": 1}, ' * (3 * MIB // 2) + b"1]}"
    for body, limit in (text, 250), (text, 600), (values, 250), (values, 600):
        with Server(hone, folder, limits=[(resource.RLIMIT_AS, limit * MIB)]) as server:
            seen = statuses(server, "POST", "/v1/models/tiny:predict", body)
            demand(set(seen) <= {0, 400, 413, 500, 503}, f"statuses {seen}")
            server.alive()
    return "12 requests of 15 MiB, one text or 1,500,000 values, in 250 and 600 MiB of addresses: the server goes on"


def pages_memory(hone, folder):
    with gzip.open(os.path.join(folder, "rows.parquet.gz"), "wb", compresslevel=1) as f:
        f.write(bytes(100 * MIB))  # read whole, then found to be no Parquet
    refused = 0
    for limit in 800, 1500:
        with Pages(hone, folder, limits=[(resource.RLIMIT_AS, limit * MIB)]) as server:
            seen = statuses(server, "GET", "/api/data?file=rows.parquet.gz")
            demand(set(seen) <= {0, 400, 503}, f"statuses {seen}")
            refused += seen.count(503)
            server.alive()
    demand(refused > 0, "no request was refused")
    return f"12 requests for a file of 100 MiB in 800 and 1,500 MiB of addresses: {refused} refused, hone ui goes on"


def long_texts(hone, folder):
    slowest = max(slowest_health(hone, folder, *asked) for asked in (
        ("/v1/models/tiny:predict", {"instances": ["a" * (15 * MIB)]}),
        ("/v1/chat/completions", {"model": "tiny", "messages": [{"role": "user", "content": "a"}] * 60000})))
    return f"/readyz took at most {1000 * slowest:.0f} ms beside 8 texts of 15 MiB, and beside 8 chats of 60,000 messages"


def slowest_health(hone, folder, path, asked):
    body = json.dumps(asked).encode()
    with Server(hone, folder) as server:
        slowest, statuses = 0, []

        def send():
            statuses.append(ask(server.port, "POST", path, body)[0])

        threads = [threading.Thread(target=send) for _ in range(8)]
        for t in threads:
            t.start()
        while any(t.is_alive() for t in threads):
            begun = time.time()
            demand(ask(server.port, "GET", "/readyz")[0] == 200, "not ready")
            slowest = max(slowest, time.time() - begun)
            time.sleep(0.01)
        demand(slowest < 1, f"/readyz took {slowest:.2f} s")
        demand(set(statuses) <= {400, 503}, f"statuses {statuses}")
        return slowest


def many_texts(hone, folder):
    with Server(hone, folder, "--max_queue", "4") as server:
        body = json.dumps({"instances": ["Hello"] * 1024, "parameters": {"max_new_tokens": 1}})
        status, text = ask(server.port, "POST", "/v1/models/tiny:predict", body)[:2]
        demand(status == 200 and len(json.loads(text)["predictions"]) == 1024, f"status {status} {text[:300]}")
        return "1,024 texts of one request are answered by an idle server"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(ROOT, "build", "hone"))
    parser.add_argument("--only")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hone_serve_attacks_")
    wrong = 0
    try:
        for what in descriptors, bodies, memory, pages_memory, long_texts, many_texts:
            if options.only not in (None, what.__name__):
                continue
            try:
                print(f"{what.__name__:<12} {what(os.path.abspath(options.hone), folder)}", flush=True)
            except Fault as e:
                wrong += 1
                print(f"{what.__name__:<12} {e}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
