#!/usr/bin/env python3
# fast
"""An endpoint is a promise: it has one server; one that was killed, stopped or replaced is followed by one that answers the
same at the same address; a server that ends is out of the way before it stops answering; and hone models promote says what
the endpoint serves.

    tests/faults/endpoint.py --hone build/hone
"""
import argparse
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from deploy import Hone, T5, ask
from serve_reload import until
from store_peers import free_port

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
FLAGS = ["batch_size=3", "max_length=64", "threads=1", "prefix=summarize: ", "drain_delay=0.5"]
TEXTS = ["The ferry leaves at nine.", "Snow fell on the hills in the night."]


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(") ", 1)[1][0] not in "ZX"
    except OSError:
        return False


class Endpoint:
    def __init__(self, hone, name):
        self.hone, self.name = hone, name

    def show(self):
        return self.hone("endpoints", "show", self.name, "--json")

    def answers(self):
        shown = self.show()
        path = f"/v1/projects/p/locations/l/endpoints/{shown['endpoint']}:predict"
        return ask(shown["url"], path, {"instances": TEXTS, "parameters": {"maxOutputTokens": 8}})["predictions"]

    def pid(self):
        return ask(self.show()["url"], "/healthz")["pid"]

    def serve(self, *flags):
        """hone serve for it, as a supervisor starts it."""
        log = open(os.path.join(self.hone.folder, "serve.log"), "w+")
        return subprocess.Popen([self.hone.program, "serve", "--endpoint", self.name, *flags], cwd=self.hone.folder,
                                env=self.hone.environment, stdout=log, stderr=log)

    def ready(self):
        return self.show()["state"] == "ready"


def said(hone):
    with open(os.path.join(hone.folder, "serve.log")) as f:
        return f.read()


def check_same_again(hone, e):
    first = hone("deploy", "t5:1", "--serve_flags", *FLAGS, "--json")
    answers, pid = e.answers(), e.pid()
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_alive(pid), "the server survives SIGKILL")
    again = hone("deploy", "t5:1", "--json")
    assert (again["url"], again["endpoint"]) == (first["url"], first["endpoint"]), (first, again)
    assert e.answers() == answers
    kept = e.show()["serving"]
    assert kept["prefix"] == "summarize: " and kept["batch_size"] == 3 and first["url"].endswith(f":{kept['port']}"), kept
    hone("endpoints", "stop", "t5")
    process = e.serve()
    until(e.ready, "hone serve --endpoint is not ready", process)
    assert e.show()["url"] == first["url"] and e.answers() == answers
    # Other settings take another server's place, and are kept from then on.
    assert "H3023" in hone("deploy", "t5:1", "--serve_flags", "prefix=", status=1)
    bare = hone("deploy", "t5:1", "--serve_flags", "prefix=", "--take_over", "--json")
    assert process.wait(60) == 0 and bare["url"] == first["url"]
    assert e.show()["serving"]["prefix"] == "" and e.answers() != answers
    hone("deploy", "t5:1", "--serve_flags", "prefix=summarize: ", "--take_over", "--json")
    assert e.answers() == answers
    return first["url"]


def check_one_server(hone, e, url):
    pid = e.pid()
    second = e.serve()
    assert second.wait(60) == 1
    assert "H3418" in said(hone) and url in said(hone) and str(pid) in said(hone), said(hone)
    assert e.pid() == pid
    third = e.serve("--take_over")
    until(lambda: not is_alive(pid), "the first server goes on", third)
    until(e.ready, "the one that takes over is not ready", third)
    assert e.pid() == third.pid and e.show()["url"] == url
    # Several start at once, at ports of their own: one is left.
    hone("endpoints", "stop", "t5")
    assert third.wait(60) == 0
    many = [e.serve("--port", str(free_port())) for _ in range(4)]
    until(e.ready, "none of several servers is ready")
    until(lambda: sum(p.poll() is None for p in many) == 1, "several servers answer for one endpoint")
    left = next(p for p in many if p.poll() is None)
    assert e.pid() == left.pid and all(p.returncode == 1 for p in many if p is not left)
    # Removed from the registry, no server goes on.
    hone("endpoints", "delete", "t5")
    assert left.wait(60) == 0
    hone("deploy", "t5:1", "--serve_flags", *FLAGS, "--json")
    pid = e.pid()
    with sqlite3.connect(os.path.join(hone.folder, "registry.db")) as db:  # as another machine would
        db.execute("UPDATE hone_endpoints SET server = '{}'")
    until(lambda: not is_alive(pid), "a server that the registry no longer names goes on")


def servers_of(endpoint):
    """The processes that serve it, whoever started them."""
    found = []
    for pid in os.listdir("/proc"):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if b"serve" in words and endpoint.encode() in words:
            found.append(int(pid))
    return found


def check_no_orphans(hone, e, times):
    """hone deploy is killed at any moment; hone endpoints stop ends whatever it has started, a hung server too."""
    endpoint = hone("deploy", "t5:1", "--serve_flags", *FLAGS, "--json")["endpoint"]
    os.kill(e.pid(), signal.SIGSTOP)
    hone("endpoints", "stop", "t5", "--wait", "0.5")
    assert not servers_of(endpoint)
    for i in range(times):
        deploy = subprocess.Popen([hone.program, "deploy", "t5:1"], cwd=hone.folder, env=hone.environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.2 * i / times)
        deploy.kill()
        deploy.wait()
        hone("endpoints", "stop", "t5")
        until(lambda: not servers_of(endpoint), "a server outlives hone endpoints stop")
        time.sleep(0.1)
        assert not servers_of(endpoint) and e.show()["state"] == "no server", i


class Visitor(threading.Thread):
    """Opens a new connection for each request; when each was answered or refused, and what readiness said then."""

    def __init__(self, url, path, body=None):
        super().__init__()
        self.url, self.path, self.body, self.seen, self.over = url, path, body, [], False

    def run(self):
        while not self.over:
            try:
                data = None if self.body is None else json.dumps(self.body).encode()
                with OPENER.open(urllib.request.Request(self.url + self.path, data=data), timeout=30) as answer:
                    answer.read()
                    status = answer.status
            except urllib.error.HTTPError as e:
                status = e.code
            except OSError:
                status = 0
            self.seen.append((time.monotonic(), status))
            time.sleep(0.005)


def check_elsewhere(hone, e):
    """A server in another process space, as on another machine, cannot be signalled: it ends because the registry names
    another one. Without the right to make such a space nothing is checked."""
    space = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*space, "true"], capture_output=True, check=False).returncode != 0:
        print("endpoint: no process space of its own can be made here")
        return
    log = open(os.path.join(hone.folder, "serve.log"), "w+")
    first = subprocess.Popen([*space, hone.program, "serve", "--endpoint", "t5"], cwd=hone.folder, env=hone.environment, stdout=log, stderr=log)
    until(e.ready, "the server in a space of its own is not ready", first)
    answers = e.answers()
    second = e.serve()
    assert second.wait(60) == 1 and "H3418" in said(hone), said(hone)
    third = e.serve("--take_over")
    assert first.wait(60) == 0
    until(e.ready, "the one that takes over is not ready", third)
    assert e.pid() == third.pid and e.answers() == answers
    third.terminate()
    assert third.wait(60) == 0


def check_drain(hone, e):
    delay = 2.0
    hone("deploy", "t5:1", "--serve_flags", f"drain_delay={delay}", "--json")
    shown = e.show()
    path = f"/v1/projects/p/locations/l/endpoints/{shown['endpoint']}:predict"
    visitors = [Visitor(shown["url"], "/readyz"), Visitor(shown["url"], path, {"instances": ["a"], "parameters": {"maxOutputTokens": 1}})]
    for v in visitors:
        v.start()
    time.sleep(0.3)
    pid, begin = e.pid(), time.monotonic()
    os.kill(pid, signal.SIGTERM)
    until(lambda: not is_alive(pid), "the server does not end")
    for v in visitors:
        v.over = True
        v.join()
    ready, asked = visitors
    turned = next(t for t, status in ready.seen if status == 503)
    assert turned - begin < 1, turned - begin
    refused = [t for t, status in asked.seen if status != 200]
    assert refused and refused[0] - turned > delay - 0.2, (refused[:1], turned)
    assert all(status in (200, 0) for _, status in asked.seen), asked.seen
    return sum(status == 200 for t, status in asked.seen if t > turned)


def check_loading(hone, folder):
    """While models load: 503 with Retry-After. A named pipe as a file of the second model holds the loading up."""
    slow = os.path.join(folder, "slow")
    shutil.copytree(T5, slow)
    os.remove(os.path.join(slow, "generation_config.json"))
    os.mkfifo(os.path.join(slow, "generation_config.json"))
    port = free_port()
    log = open(os.path.join(folder, "serve.log"), "w+")
    process = subprocess.Popen([hone.program, "serve", "slow=" + slow, "--port", str(port), "--threads", "1", "--endpoint_id", "77",
                                "--drain_delay", "0"], cwd=folder, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    until(lambda: ask(url, "/healthz"), "hone serve did not start", process)
    counted = 0
    for path, body in [("/readyz", None), ("/ping", None), ("/v1/models", None), ("/v1/models/slow", None), ("/v2/models/slow/ready", None),
                       ("/v1/models/slow:predict", {"instances": ["a"]}), ("/v2/models/slow", None),
                       ("/v1/completions", {"model": "slow", "prompt": "a"}),
                       ("/v1/projects/p/locations/l/endpoints/77:predict", {"instances": ["a"]}),
                       ("/v1/projects/p/locations/l/endpoints/slow:predict", {"instances": ["a"]})]:
        try:
            ask(url, path, body)
            raise AssertionError(path + " was answered")
        except urllib.error.HTTPError as e:
            assert e.code == 503 and e.headers["Retry-After"], (path, e.code, e.read())
            counted += 1
    with open(os.path.join(slow, "generation_config.json"), "w") as f:
        f.write("{}")
    until(lambda: ask(url, "/readyz"), "hone serve is not ready", process)
    process.terminate()
    assert process.wait(60) == 0
    return counted


def check_keys(hone, e):
    """An endpoint that had keys is never opened by a start without them; the key itself is not in the registry."""
    hone("deploy", "t5:1", "--json")
    hone.environment["HONE_API_KEY"] = "word-of-the-test"
    text = hone("deploy", "t5:1", status=1)
    assert "H3023" in text and "asks for no key" in text and "--take_over" in text, text
    hone("endpoints", "stop", "t5")
    line = [l for l in hone("deploy", "t5:1").splitlines() if "Authorization" in l]
    assert line and '-H "Authorization: Bearer $HONE_API_KEY"' in line[0], "the line to paste lets the shell fill in the key"
    del hone.environment["HONE_API_KEY"]
    text = hone("deploy", "t5:2", status=1)
    assert "asks for a key, and none is given" in text and "set HONE_API_KEY" in text, text
    steps = os.path.join(hone.folder, "steps.json")
    with open(steps, "w") as f:
        json.dump({"name": "keyed", "steps": [{"name": "first", "run": ["touch", os.path.join(hone.folder, "begun")]},
                                              {"name": "deploy", "run": "hone deploy t5:2 --json", "after": ["first"]}]}, f)
    for ends in (False, True):
        text = hone("pipeline", "run", steps, status=1)
        assert "asks for a key, and none is given" in text, text
        assert not os.path.exists(os.path.join(hone.folder, "begun")), "a step ran before the endpoint was asked"
        if not ends:
            os.kill(e.pid(), signal.SIGKILL)
    text = hone("deploy", "t5:1", status=1)
    assert "H3021" in text and "asks for a key" in text and "set HONE_API_KEY, or name a file with keys" in text, text
    assert "--serve_flags api_key_file=FILE; for a server without keys" in text, text
    assert "started" not in text, "a server was started that could only end"
    with open(os.path.join(hone.folder, "my keys"), "w") as f:
        f.write("word-of-the-test\n")
    text = hone("deploy", "t5:1", "--serve_flags", "api_key_file=" + os.path.join(hone.folder, "my keys"))
    assert '-H "Authorization: Bearer $(head -n 1 \'' in text, text
    with open(os.path.join(hone.folder, "registry.db"), "rb") as f:
        assert b"word-of-the-test" not in f.read()
    hone("endpoints", "delete", "t5")


def check_aliases(hone, e):
    text = hone("models", "promote", "t5:2")
    assert "endpoint    none serves t5" not in text and "hone deploy t5:2 --endpoint_name t5" in text and "t5:1 (100 %)" in text, text
    hone("deploy", "t5:1", "--json")
    assert "still answers with t5:1 (100 %)" in hone("models", "promote", "t5:2")
    done = subprocess.run([hone.program, "models", "promote", "t5:2", "--deploy"], cwd=hone.folder, env=hone.environment,
                          capture_output=True, text=True)
    assert done.returncode == 0 and "t5:2 answers at" in done.stdout, done
    assert [d["version"] for d in e.show()["deployed"]] == [2]
    assert "endpoint    t5 answers with t5:2" in hone("models", "promote", "t5:2")
    hone("models", "promote", "t5:1")
    hone("models", "promote", "t5:2")
    text = hone("models", "rollback", "t5")
    assert "t5@champion is t5:1" in text and "still answers with t5:2 (100 %)" in text and "hone deploy t5:1" in text, text
    hone("models", "promote", "t5:2")
    done = subprocess.run([hone.program, "models", "rollback", "t5", "--deploy"], cwd=hone.folder, env=hone.environment,
                          capture_output=True, text=True)
    assert done.returncode == 0 and "t5:1 answers at" in done.stdout, done
    assert [d["version"] for d in e.show()["deployed"]] == [1]
    assert "still" not in hone("models", "promote", "t5:1", "--alias", "staging")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(ROOT, "build", "hone"))
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hone_endpoint_")
    hone = Hone(os.path.abspath(options.hone), folder)
    e = Endpoint(hone, "t5")
    try:
        for version in ("1", "2"):
            shutil.copytree(T5, os.path.join(folder, version))
            with open(os.path.join(folder, version, "config.json"), "r+") as f:
                config = dict(json.load(f), note=version)
                f.seek(0)
                json.dump(config, f)
                f.truncate()
            hone("models", "register", "--name", "t5", "--model", version, "--json")
        check_one_server(hone, e, check_same_again(hone, e))
        check_no_orphans(hone, e, 12)
        check_elsewhere(hone, e)
        answered = check_drain(hone, e)
        loading = check_loading(hone, folder)
        check_aliases(hone, e)
        check_keys(hone, e)
    except BaseException:
        for name in os.listdir(folder):
            if name.endswith(".log"):
                print(name, said(hone))
        raise
    finally:
        subprocess.run([hone.program, "endpoints", "delete", "t5"], env=hone.environment, capture_output=True, check=False)
        shutil.rmtree(folder)
    print(f"endpoint: {answered} requests were answered after readiness turned, {loading} routes say 503 while models load")
    return 0


if __name__ == "__main__":
    sys.exit(main())
