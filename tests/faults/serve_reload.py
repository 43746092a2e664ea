#!/usr/bin/env python3
# fast
"""hone serve takes models while it runs: a load that names neither version nor share changes no share, one that is asked
for while the server starts waits, an endpoint answers with the model that was deployed last, a server that ends loads
nothing and says that it is not ready.

    tests/faults/serve_reload.py --hone build/hone
"""
import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from store_peers import free_port

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TINY = os.path.join(ROOT, "tests", "goldens", "tiny_text_gpt2")
T5 = os.path.join(ROOT, "tests", "goldens", "pairs", "t5")
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
SMALL = ["--threads", "1", "--batch_size", "2", "--max_length", "48"]


def ask(url, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with OPENER.open(urllib.request.Request(url + path, data=data), timeout=60) as answer:
        return json.loads(answer.read())


def until(condition, what, process=None):
    for _ in range(6000):
        try:
            if condition():
                return
        except OSError:
            pass
        if process is not None and process.poll() is not None:
            break
        time.sleep(0.01)
    sys.exit(what)


def serve(hone, folder, *args):
    """The process, its URL as soon as it is alive, and the answer of a load that was sent before it was ready."""
    port = free_port()
    log = open(os.path.join(folder, "log"), "a")
    process = subprocess.Popen([hone, "serve", *args, "--port", str(port), *SMALL], stdout=log, stderr=log, cwd=folder)
    url = f"http://127.0.0.1:{port}"
    until(lambda: ask(url, "/healthz"), "hone serve did not start", process)
    return process, url


def shares(url, name, count=100):
    """How many of this number of requests each version answered."""
    seen = {}
    for _ in range(count):
        v = ask(url, f"/v1/projects/p/locations/l/endpoints/{name}:predict",
                {"instances": ["a"], "parameters": {"maxOutputTokens": 1}})["modelVersionId"]
        seen[v] = seen.get(v, 0) + 1
    return seen


def versions(url):
    return sorted((m["name"], m["version"]) for m in ask(url, "/v2/repository/index", {}))


def check_shares(hone, folder):
    process, url = serve(hone, folder, "a:1=" + TINY, "a:2=" + TINY, "a:10=" + TINY, "--traffic", "a:1=70", "a:2=20", "a:10=10")
    ask(url, "/v2/repository/models/a/load", {})  # perhaps while the others load
    until(lambda: ask(url, "/readyz"), "hone serve is not ready", process)
    all_three = [("a", "1"), ("a", "10"), ("a", "2")]
    assert versions(url) == all_three, versions(url)
    assert shares(url, "a") == {"1": 70, "2": 20, "10": 10}
    ask(url, "/v2/repository/models/a/load", {})
    assert versions(url) == all_three and shares(url, "a") == {"1": 70, "2": 20, "10": 10}
    ask(url, "/v2/repository/models/a/load", {"parameters": {"hone_version": "2", "hone_traffic": 100}})
    assert versions(url) == [("a", "2")] and shares(url, "a", 10) == {"2": 10}
    # The newest of those that are listed, which is not served: it gets all.
    ask(url, "/v2/repository/models/a/load", {})
    assert versions(url) == [("a", "10")] and shares(url, "a", 10) == {"10": 10}

    # It ends, and waits for a request that is not whole: not ready, and it loads nothing.
    def half(request, rest):
        s = socket.create_connection(url.removeprefix("http://").split(":"), timeout=60)
        s.sendall(request)
        return s, rest
    body = b"POST /v2/repository/models/a/load HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n"
    halves = [half(b"GET /readyz HTTP/1.1\r\nHost: a\r\n", b"Connection: close\r\n\r\n"), half(body, b"\r\n{}")]
    ask(url, "/healthz")  # it was accepted after the two
    process.send_signal(signal.SIGTERM)

    def closed():
        try:
            ask(url, "/healthz")
            return False
        except urllib.error.HTTPError:
            return False
        except OSError:
            return True
    until(closed, "the server that ends still takes connections")
    for s, rest in halves:
        s.sendall(rest)
        answer = s.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.1 503 ") and b"Retry-After" in answer, answer
        s.close()
    assert process.wait(60) == 0


def check_endpoint(program, folder):
    environment = dict(os.environ, HONE_REGISTRY=os.path.join(folder, "registry.db"), XDG_STATE_HOME=os.path.join(folder, "state"))

    def hone(*args):
        done = subprocess.run([program, *args], cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, (args, done.stdout, done.stderr)
        return done.stdout
    hone("models", "register", "--name", "first", "--model", TINY)
    hone("models", "register", "--name", "second", "--model", T5)
    try:
        flags = ["batch_size=2", "max_length=48", "threads=1"]
        one = json.loads(hone("deploy", "first", "--endpoint_name", "e", "--json", "--serve_flags", *flags))
        path, url = f"/v1/projects/p/locations/l/endpoints/{one['endpoint']}:predict", one["url"]
        assert ask(url, path, {"instances": ["a"]})["modelDisplayName"] == "first"
        two = json.loads(hone("deploy", "second", "--endpoint_name", "e", "--json"))
        assert two["url"] == url and two["endpoint"] == one["endpoint"], two
        answer = ask(url, path, {"instances": ["a"]})
        assert answer["modelDisplayName"] == "second" and answer["deployedModelId"] == two["deployed_model"], answer
        assert versions(url) == [("second", "1")], versions(url)
        # Loaded again without words about it, it stays what was deployed.
        ask(url, "/v2/repository/models/second/load", {})
        assert ask(url, path, {"instances": ["a"]})["deployedModelId"] == two["deployed_model"]
    finally:
        subprocess.run([program, "endpoints", "delete", "e"], cwd=folder, env=environment, capture_output=True, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(ROOT, "build", "hone"))
    options = parser.parse_args()
    hone = os.path.abspath(options.hone)
    folder = tempfile.mkdtemp(prefix="hone_serve_reload_")
    try:
        check_shares(hone, folder)
        check_endpoint(hone, folder)
    except BaseException:
        with open(os.path.join(folder, "log")) as log:
            print(log.read())
        raise
    finally:
        shutil.rmtree(folder)
    print("hone serve: loads change what they name and nothing else")
    return 0


if __name__ == "__main__":
    sys.exit(main())
