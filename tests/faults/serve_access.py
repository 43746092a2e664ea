#!/usr/bin/env python3
# fast
"""The access log of hone serve: one line for each request, over HTTP/1.1 and HTTP/2, refused and malformed ones too; ids;
logrotate; a reader that reads nothing. Also what a server says and does at its start: the warning of a server that everybody
reaches, and its end while models load.

    tests/faults/serve_access.py --hone build/hone
"""
import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from serve_faults import BODY, TINY, ask, start
from store_peers import free_port

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STREAM = json.dumps({"model": "tiny", "prompt": "Hello, world", "max_tokens": 4, "temperature": 0, "stream": True})
COMBINED = re.compile(r'^127\.0\.0\.1 - - \[\d\d/[A-Z][a-z][a-z]/\d{4}:\d\d:\d\d:\d\d \+0000\] "[^"]*" (\d+) (\d+) "[^"]*" "[^"]*" '
                      r'time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z id=(\S+) ')


def end(process, seconds=30):
    process.send_signal(signal.SIGTERM)
    assert process.wait(seconds) == 0, process.returncode


def requests(port):
    """Asks in every way; what the lines must say, by id."""
    wanted = {}

    def one(status, method, path, body=None, facts=None, **headers):
        name = f"id-{len(wanted)}"
        answer = ask(port, method, path, body, {"X-Request-Id": name, "X-Api-Key": "k", **headers})
        assert answer[0] == status, answer
        assert answer[2]["X-Request-Id"] == name, answer
        assert status < 400 or json.loads(answer[1])["request_id"] == name, answer
        wanted[name] = {"status": status, "method": method, "path": path.split("?")[0], "bytes_out": len(answer[1]), **(facts or {})}

    one(200, "POST", "/v1/models/tiny:predict?key=AIzaSyA1234567890123456789012345678901", BODY,
        {"model": "tiny", "version": "1", "tokens_in": 6, "tokens_out": 4, "bytes_in": len(BODY), "first_seconds": None})
    one(200, "POST", "/v1/completions", STREAM, {"model": "tiny", "tokens_out": 4})
    one(404, "POST", "/v1/completions", json.dumps({"model": "none", "prompt": "a"}), {"model": None})
    one(404, "GET", "/nothing")
    one(405, "DELETE", "/v2/models/tiny")
    one(400, "GET", "/v2/models/tiny/versions/%00")
    one(413, "POST", "/v1/completions", "x" * 3_000_000)
    one(401, "GET", "/v1/models", None, None, **{"X-Api-Key": "wrong"})
    if shutil.which("curl"):
        done = subprocess.run(["curl", "-sS", "--noproxy", "*", "--http2-prior-knowledge", "-H", "x-request-id: curl-2", "-H", "x-api-key: k",
                               "-d", BODY, f"http://127.0.0.1:{port}/v1/models/tiny:predict"], capture_output=True, text=True)
        assert "predictions" in done.stdout, done
        wanted["curl-2"] = {"status": 200, "protocol": "HTTP/2.0", "path": "/v1/models/tiny:predict", "tokens_out": 4}
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(b"nothing\r\n\r\n")
        answer = b""
        while piece := s.recv(4096):
            answer += piece
    name = re.search(rb"X-Request-Id: (\w+)", answer).group(1).decode()
    wanted[name] = {"status": 400, "method": None, "path": None}
    return wanted


def check_lines(hone, folder):
    """As many lines as requests, each with the facts of its request; a moved file is made again."""
    os.environ["HONE_API_KEY"] = "k"
    for form in ("json", "combined"):
        port, path = free_port(), os.path.join(folder, "access." + form)
        process = start(hone, folder, port, "--access_log", path, "--access_log_format", form, "--max_body", "2MB", "--drain_delay", "0")
        wanted = requests(port)
        while sum("/readyz" not in line for line in open(path)) < len(wanted):
            time.sleep(0.01)
        os.rename(path, path + ".1")
        again = requests(port)
        end(process)
        assert os.stat(path).st_mode & 0o007 == 0
        for file, facts in ((path + ".1", wanted), (path, again)):
            with open(file) as f:
                text = f.read()
            assert "AIza" not in text and "key=" not in text, text
            lines = [line for line in text.splitlines() if "/readyz" not in line]
            assert len(lines) == len(facts), (len(lines), len(facts), text)
            if form == "combined":
                assert all(COMBINED.match(line) for line in lines), text
                assert {COMBINED.match(line)[3]: int(COMBINED.match(line)[1]) for line in lines} == {n: f["status"] for n, f in facts.items()}
                continue
            for line in map(json.loads, lines):
                found = {key: line[key] for key in facts[line["request_id"]]}
                assert found == facts[line["request_id"]], (found, facts[line["request_id"]])
            streamed = [json.loads(line) for line in lines if json.loads(line)["first_seconds"] is not None]
            assert len(streamed) == 1 and 0 < streamed[0]["first_seconds"] <= streamed[0]["seconds"], streamed
    del os.environ["HONE_API_KEY"]
    return len(wanted) + len(again)


def check_reader(hone, folder):
    """Standard output that nobody reads: every request is answered, and the server ends."""
    port, asked = free_port(), 6000
    process = subprocess.Popen([hone, "serve", "tiny=" + TINY, "--port", str(port), "--threads", "1", "--max_length", "48",
                                "--access_log", "-", "--drain_delay", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder)
    for _ in range(1200):
        try:
            if ask(port, "GET", "/readyz")[0] == 200:
                break
        except OSError:
            time.sleep(0.02)
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.settimeout(60)
        answered = b""
        for _ in range(asked // 100):
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 100)
            expected = answered.count(b"HTTP/1.1 200 ") + 100
            while answered.count(b"HTTP/1.1 200 ") < expected:
                answered += s.recv(1 << 16)
    began = time.monotonic()
    end(process)
    assert time.monotonic() - began < 20
    process.stdout.close()
    return asked


def check_end_while_loading(hone, folder):
    """Not all of the models are loaded, and the status is that of a server that was asked to end."""
    models, port = [f"m{i}=" + TINY for i in range(60)], free_port()
    with open(os.path.join(folder, "loading"), "w+") as log:
        process = subprocess.Popen([hone, "serve", *models, "--port", str(port), "--threads", "1", "--max_length", "48"], stdout=log,
                                   stderr=log, cwd=folder)
        while process.poll() is None:
            try:
                if ask(port, "GET", "/readyz")[0] == 503:
                    break
            except OSError:
                time.sleep(0.002)
        end(process)
        log.seek(0)
        text = log.read()
    loaded = len(re.findall(r"^model ", text, re.M))
    assert loaded < len(models) and "before all models were loaded" in text, text
    return loaded, len(models)


def first_lines(command, folder, until, **environment):
    with open(os.path.join(folder, "said"), "w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env={**os.environ, **environment})
        text = ""
        while process.poll() is None and until not in text:
            time.sleep(0.02)
            log.seek(0)
            text = log.read()
        time.sleep(0.1)
        end(process)
        log.seek(0)
        return log.read()


def check_warnings(hone, folder):
    """Whoever is reached by others without keys says how to set one."""
    serve = [hone, "serve", "tiny=" + TINY, "--port", "0", "--threads", "1", "--max_length", "48", "--drain_delay", "0"]
    ui = [hone, "ui", "--port", "0"]
    for host, key, warns in (("127.0.0.1", "", False), ("localhost", "", False), ("0.0.0.0", "", True), ("0.0.0.0", "k", False)):
        said = first_lines([*serve, "--host", host], folder, "listens", **({"HONE_API_KEY": key} if key else {}))
        assert ("warning: everybody" in said and "HONE_API_KEY" in said) == warns, (host, key, said)
    for host in ("127.0.0.1", "0.0.0.0"):
        said = first_lines([*ui, "--host", host], folder, "listens")
        assert ("warning: everybody" in said) == (host == "0.0.0.0"), said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(ROOT, "build", "hone"))
    options = parser.parse_args()
    hone = os.path.abspath(options.hone)
    folder = tempfile.mkdtemp(prefix="hone_serve_access_")
    try:
        lines = check_lines(hone, folder)
        asked = check_reader(hone, folder)
        loaded, models = check_end_while_loading(hone, folder)
        check_warnings(hone, folder)
    finally:
        shutil.rmtree(folder)
    print(f"hone serve: {lines} lines in each form, {asked} answers without a reader, ended after {loaded} of {models} models")
    return 0


if __name__ == "__main__":
    sys.exit(main())
