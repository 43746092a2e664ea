#!/usr/bin/env python3
# fast
# nightly: --kills 200
"""hone serve under what clients and machines do to it: a burst of ten times its load, clients that send or read slowly,
that leave, or send no HTTP at all, and kill -9. Every request is answered rightly or refused with a status that says why.

    tests/faults/serve_faults.py --hone build/hone [--kills N]
"""
import argparse
import concurrent.futures
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from store_peers import free_port

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TINY = os.path.join(ROOT, "tests", "goldens", "tiny_text_gpt2")
TEXT = "ineinehi S"  # four tokens after "Hello, world", as tests/runs/generate.run has them
BODY = json.dumps({"instances": ["Hello, world"], "parameters": {"max_new_tokens": 4}})


def start(hone, folder, port, *args):
    with open(os.path.join(folder, "log"), "a") as log:
        process = subprocess.Popen([hone, "serve", "tiny=" + TINY, "--port", str(port), "--threads", "1", "--batch_size", "2",
                                    "--max_length", "48", *args], stdout=log, stderr=log, cwd=folder)
    for _ in range(1200):
        try:
            if ask(port, "GET", "/readyz")[0] == 200:
                return process
        except OSError:
            pass
        if process.poll() is not None:
            break
        time.sleep(0.02)
    sys.exit("hone serve did not start:\n" + open(os.path.join(folder, "log")).read())


def ask(port, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    finally:
        connection.close()


def predict(port):
    status, body, headers = ask(port, "POST", "/v1/models/tiny:predict", BODY)
    if status == 200:
        assert json.loads(body)["predictions"] == [TEXT], body
    return status, headers


def value(page, name):
    return sum(float(line.rsplit(" ", 1)[1]) for line in page.decode().splitlines() if line.startswith(name))


def gauge(port, name):
    return value(ask(port, "GET", "/metrics")[1], name)


def check_burst(port):
    """Places for 2, 4 that wait: 60 at once. None is answered wrongly, and those that are refused know when to come again."""
    with concurrent.futures.ThreadPoolExecutor(60) as pool:
        answers = list(pool.map(lambda _: predict(port), range(600)))
    counts = {s: sum(a[0] == s for a in answers) for s in (200, 429)}
    assert sum(counts.values()) == len(answers) and counts[200] > 0, counts
    assert all("Retry-After" in h for s, h in answers if s == 429)
    assert predict(port)[0] == 200
    return counts


def check_slow_clients(port):
    """Clients that stop in the middle of a request, or never read, take nothing from the others."""
    slow = []
    for i in range(40):
        s = socket.create_connection(("127.0.0.1", port))
        s.sendall([b"", b"POST /v1/comple", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{",
                   b"PRI * HTTP/2.0\r\n"][i % 4])
        slow.append(s)
    stream = json.dumps({"model": "tiny", "prompt": "Hello, world", "max_tokens": 40, "stream": True, "n": 2})
    for _ in range(4):
        s = socket.create_connection(("127.0.0.1", port))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        s.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(stream)}\r\n\r\n{stream}".encode())
        slow.append(s)
    for _ in range(20):
        assert predict(port)[0] in (200, 429)
    for s in slow:
        s.close()


def wait_until_idle(port):
    """Nothing runs, waits or holds memory; all three are of one page."""
    names = ("hone_serve_running_requests", "hone_serve_waiting_requests", "hone_serve_used_cache_ratio")
    for _ in range(1500):
        page = ask(port, "GET", "/metrics")[1]
        if all(value(page, name) == 0 for name in names):
            return
        time.sleep(0.02)
    sys.exit("requests of clients that left are still there")


def check_leaving(port):
    """A client that leaves ends its request."""
    body = json.dumps({"instances": ["Hello, world"] * 2, "parameters": {"max_new_tokens": 40, "num_beams": 2}})
    for _ in range(20):
        s = socket.create_connection(("127.0.0.1", port))
        s.sendall(f"POST /v1/models/tiny:predict HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        s.close()
    wait_until_idle(port)


def check_hostile(port, grpc):
    r = random.Random(1)
    for _ in range(60):
        for to in (port, grpc):
            if to is None:
                continue
            s = socket.create_connection(("127.0.0.1", to))
            s.settimeout(10)
            try:
                s.sendall(r.choice([b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/1.1\r\n"]) + r.randbytes(r.randint(1, 3000)))
                s.shutdown(socket.SHUT_WR)
                while s.recv(4096):
                    pass
            except OSError:
                pass
            s.close()
    for body in (b"", b"\xff" * 1000, b"[" * 100000, b'{"instances": [' + b'"a",' * 5000 + b'"a"]}', b'{"a": 1e999}'):
        assert ask(port, "POST", "/v1/models/tiny:predict", body)[0] in (400, 429), body[:20]
    assert ask(port, "POST", "/v1/models/tiny:predict", b"x" * 3000000)[0] == 413
    for path in ("/../../etc/passwd", "/v1/models/..%2f..%2fetc:predict", "/v2/models/%00/infer", "/%zz"):
        assert ask(port, "GET", path)[0] in (400, 404), path
    assert ask(port, "POST", "/v2/repository/models/..%2f..%2ftmp/load", "{}")[0] in (400, 404)
    assert ask(port, "GET", "/healthz", headers={"X": "a" * 100000})[0] == 431
    assert predict(port)[0] == 200


def check_kills(hone, folder, kills):
    """Killed at any moment; the next server answers as the last one did."""
    r = random.Random(2)
    port = free_port()
    for _ in range(kills):
        process = start(hone, folder, port, "--max_queue", "64")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            def client(_):
                answered = 0
                try:
                    while True:
                        assert predict(port)[0] == 200
                        answered += 1
                except (OSError, http.client.HTTPException):
                    return answered
            clients = [pool.submit(client, i) for i in range(8)]
            time.sleep(r.uniform(0, 0.3))
            process.send_signal(signal.SIGKILL)
            process.wait()
            for c in clients:
                c.result()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(ROOT, "build", "hone"))
    parser.add_argument("--kills", type=int, default=5)
    options = parser.parse_args()
    hone = os.path.abspath(options.hone)
    folder = tempfile.mkdtemp(prefix="hone_serve_faults_")
    try:
        port, grpc = free_port(), None
        flags = ["--max_queue", "4", "--max_body", "2MB"]
        if os.path.exists(os.path.join(os.path.dirname(os.path.realpath(hone)), "libhone_grpc.so")):
            grpc = free_port()
            flags += ["--grpc_port", str(grpc)]
        process = start(hone, folder, port, *flags)
        counts = check_burst(port)
        check_slow_clients(port)
        check_leaving(port)
        check_hostile(port, grpc)
        # A request that runs is finished, although the server was asked to end.
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            long = json.dumps({"instances": ["Hello, world"], "parameters": {"max_new_tokens": 40}})
            wait_until_idle(port)
            running = pool.submit(ask, port, "POST", "/v1/models/tiny:predict", long)
            while gauge(port, "hone_serve_running_requests") == 0 and not running.done():
                pass
            process.send_signal(signal.SIGTERM)
            assert running.result()[0] == 200
        assert process.wait(30) == 0
        check_kills(hone, folder, options.kills)
    finally:
        shutil.rmtree(folder)
    print(f"hone serve: a burst of 600 was answered {counts[200]} times and put off {counts[429]} times, {options.kills} kills, nothing wrong")
    return 0


if __name__ == "__main__":
    sys.exit(main())
