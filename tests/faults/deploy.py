#!/usr/bin/env python3
# fast
"""hone deploy and hone endpoints: versions are exchanged under load without a failed request, a version that cannot
be loaded changes nothing, and a server that is killed is started again with what was deployed.

    tests/faults/deploy.py --hone build/hone
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
import threading
import time
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
T5 = os.path.join(ROOT, "tests", "goldens", "pairs", "t5")
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Hone:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.environment = dict(os.environ, HONE_REGISTRY=os.path.join(folder, "registry.db"),
                                XDG_STATE_HOME=os.path.join(folder, "state"))

    def __call__(self, *args, status=0):
        done = subprocess.run([self.program, *args], cwd=self.folder, env=self.environment, capture_output=True, text=True)
        assert done.returncode == status, (args, done.returncode, done.stdout, done.stderr)
        return json.loads(done.stdout) if status == 0 and "--json" in args else done.stderr


def ask(url, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with OPENER.open(urllib.request.Request(url + path, data=data), timeout=30) as answer:
        return json.loads(answer.read())


class Load(threading.Thread):
    """Asks until it is told to stop; what was not answered well is in `wrong`."""

    def __init__(self, url, endpoint):
        super().__init__()
        self.path, self.url, self.wrong, self.versions, self.over = \
            f"/v1/projects/p/locations/l/endpoints/{endpoint}:predict", url, [], [], False

    def run(self):
        while not self.over:
            try:
                answer = ask(self.url, self.path, {"instances": ["a text"], "parameters": {"maxOutputTokens": 4}})
                self.versions.append(answer["modelVersionId"])
                if len(answer["predictions"]) != 1:
                    self.wrong.append(answer)
            except OSError as e:
                self.wrong.append(e)


def kill_server(hone, url):
    os.kill(ask(url, "/healthz")["pid"], signal.SIGKILL)
    while hone("endpoints", "show", "t5", "--json")["state"] != "no server":
        time.sleep(0.02)


def check_as_it_was(hone, endpoint, url):
    """A name alone starts an endpoint without a server as it was, whatever the champion is; with a server it names the champion."""
    def shares():
        return [(d["version"], d["traffic"]) for d in hone("endpoints", "show", "t5", "--json")["deployed"]]

    hone("models", "promote", "t5:1")
    hone("deploy", "t5:1", "--traffic", "20", "--json")
    assert shares() == [(2, 80), (1, 20)], shares()
    kill_server(hone, url)
    told = hone("deploy", "t5")
    assert "t5:2 80%, t5:1 20%" in told and "hone deploy t5@champion" in told and "replaces" not in told, told
    assert shares() == [(2, 80), (1, 20)], shares()
    hone("endpoints", "stop", "t5")
    again = hone("deploy", "t5", "--json")
    assert (again["endpoint"], again["url"], again["version"], shares()) == (endpoint, url, 2, [(2, 80), (1, 20)]), (again, shares())
    hone("deploy", "t5", "--json")
    assert shares() == [(1, 100)], shares()
    kill_server(hone, url)
    hone("deploy", "t5@champion", "--json")
    assert shares() == [(1, 100)], shares()


def check_replaced(hone, url):
    """A server ends for another one only when that one can take its place: until then nothing changes."""
    pid = ask(url, "/healthz")["pid"]
    shown = hone("endpoints", "show", "t5", "--json")
    assert (shown["pid"], shown["host"]) == (pid, socket.gethostname()), shown
    table = subprocess.check_output([hone.program, "endpoints", "show", "t5"], env=hone.environment, text=True)
    rows = dict(line.split(maxsplit=1) for line in table.splitlines())
    assert (rows["pid"], rows["host"]) == (str(pid), socket.gethostname()), table

    def unchanged(told):
        assert f"'t5' is unchanged: {url}, process {pid}" in told and "still answers" in told, told
        assert hone("endpoints", "show", "t5", "--json") == before
        assert ask(url, "/healthz")["pid"] == pid and ask(url, "/readyz")["endpoint"] == before["endpoint"]

    before = hone("endpoints", "show", "t5", "--json")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        told = hone("deploy", "t5:2", "--port", port, "--take_over", status=1)
        assert "H3022" in told and "H3301" in told and "endpoints delete" not in told, told
        unchanged(told)
        told = hone("serve", "--endpoint", "t5", "--port", port, "--take_over", status=1)
        assert "H3301" in told, told
        unchanged(told)
        told = hone("deploy", "t5:2", "--serve_flags", "grpc_port=" + port, "--take_over", status=1)
        assert "H3301" in told or "H3431" in told, told
        unchanged(told)
    # At its own address too, at which nothing can be tried while it listens.
    told = hone("deploy", "t5:2", "--serve_flags", "tls_certificate=none.pem", "--take_over", status=1)
    assert "H3302" in told, told
    unchanged(told)
    unchanged(hone("deploy", "t5:3", "--serve_flags", "batch_size=2", "--take_over", status=1))
    # At another port, and back.
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    moved = hone("deploy", "t5:2", "--port", str(port), "--take_over", "--json")
    assert moved["url"].endswith(f":{port}") and ask(moved["url"], "/healthz")["pid"] != pid, moved
    try:
        ask(url, "/healthz")
        raise AssertionError("the server that was replaced still answers")
    except OSError:
        pass
    hone("deploy", "t5:2", "--port", url.rsplit(":", 1)[1], "--take_over", "--json")


def check_chat(hone):
    """A model of chats is asked in a chat, which has its template."""
    hone("models", "register", "--name", "talk", "--model", os.path.join(ROOT, "tests", "goldens", "sft", "model"), "--json")
    printed = hone("deploy", "talk", "--serve_flags", "max_length=64", "threads=1")
    asked = printed[printed.index("curl "):printed.index("\nstop ")]
    assert "/v1/chat/completions" in asked, printed
    if shutil.which("curl"):
        answer = json.loads(subprocess.run(asked, shell=True, check=True, capture_output=True, env=dict(hone.environment, NO_PROXY="*")).stdout)
        assert len(answer["choices"]) == 1, answer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(ROOT, "build", "hone"))
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hone_deploy_")
    hone = Hone(os.path.abspath(options.hone), folder)
    hone.environment["HONE_DRAIN_DELAY"] = "0"
    try:
        for version in ("1", "2", "3"):
            shutil.copytree(T5, os.path.join(folder, version))
            path = os.path.join(folder, version, "config.json")
            with open(path) as f:
                config = dict(json.load(f), note=version)
            with open(path, "w") as f:
                json.dump(config, f)
            hone("models", "register", "--name", "t5", "--model", version, "--label", "source_prefix=summarize:", "--json")
        first = hone("deploy", "t5:1", "--serve_flags", "batch_size=4", "max_length=64", "threads=1", "--json")
        endpoint, url = first["endpoint"], first["url"]
        assert endpoint.isdigit() and first["version"] == 1 and first["traffic"] == 100, first
        answer = ask(url, f"/v1/projects/p/locations/l/endpoints/{endpoint}:predict", {"instances": ["a text"]})
        assert answer["deployedModelId"] == first["deployed_model"] and answer["modelVersionId"] == "1", answer

        clients = [Load(url, endpoint) for _ in range(4)]
        for c in clients:
            c.start()
        second = hone("deploy", "t5:2", "--traffic", "25", "--json")
        assert (second["url"], second["traffic"]) == (url, 25), second
        for _ in range(300):
            shared = {v for c in clients for v in c.versions}
            if len(shared) == 2:
                break
            time.sleep(0.1)
        assert {"1", "2"} == shared, shared
        assert "t5:1 75%, t5:2 25%" in hone("deploy", "t5:2", "--traffic", "25")
        assert "--serve_flags batch_sze=8" in hone("deploy", "t5:2", "--serve_flags", "batch_sze=8", status=2)
        hone("deploy", "t5:2", "--json")
        # Its weights are gone: the second version stays.
        os.remove(os.path.join(folder, "3", "model.safetensors"))
        assert "H3021" in hone("deploy", "t5:3", "--json", status=1)
        before = [len(c.versions) for c in clients]
        for _ in range(300):
            if all(len(c.versions) >= n + 2 for c, n in zip(clients, before)):
                break
            time.sleep(0.1)
        for c in clients:
            c.over = True
        for c in clients:
            c.join()
        assert not [w for c in clients for w in c.wrong], [w for c in clients for w in c.wrong][:3]
        assert all(c.versions[-1] == "2" for c in clients)
        shown = hone("endpoints", "show", "t5", "--json")
        assert [(d["version"], d["traffic"]) for d in shown["deployed"]] == [(2, 100)] and shown["state"] == "ready", shown

        # Killed: the registry knows what to serve.
        os.kill(ask(url, "/healthz")["pid"], signal.SIGKILL)
        while True:
            try:
                ask(url, "/healthz")
                time.sleep(0.02)
            except OSError:
                break
        assert hone("endpoints", "show", "t5", "--json")["state"] == "no server"
        again = hone("deploy", "t5:2", "--serve_flags", "batch_size=4", "max_length=64", "threads=1", "--json")
        assert again["endpoint"] == endpoint and ask(again["url"], "/readyz")["endpoint"] == endpoint
        check_as_it_was(hone, endpoint, url)
        check_replaced(hone, url)
        assert "stopped" in hone("endpoints", "stop", "t5")
        assert "t5 had none" in hone("endpoints", "stop", "t5")
        assert hone("endpoints", "show", "t5", "--json")["state"] == "no server"
        # A name with a blank: the printed commands work.
        hone("models", "register", "--name", "my t5", "--model", "2", "--json")
        printed = hone("deploy", "my t5")
        asked = next(line for line in printed.splitlines() if "curl " in line).split("curl ")[1].split()[0]
        assert asked.endswith("/v1/models/my%20t5:predict"), asked
        assert len(ask(asked, "", {"instances": ["a text"]})["predictions"]) == 1
        assert "hone endpoints stop 'my t5'" in printed, printed
        hone("endpoints", "stop", "my t5")
        # A server that cannot load: told with its log and its own advice; the endpoint is what it was.
        deployed = hone("endpoints", "show", "t5", "--json")["deployed"]
        assert "H3022" in hone("deploy", "t5:3", "--json", status=1)
        assert hone("endpoints", "show", "t5", "--json")["deployed"] == deployed
        told = hone("deploy", "t5", "--serve_flags", "tls_certificate=none.pem", status=1)
        assert "H3022" in told and "H3302" in told and "do   name both PEM files, or none for plain HTTP" in told, told
        hone("endpoints", "delete", "t5")
        check_chat(hone)
        print(f"deploy: {sum(len(c.versions) for c in clients)} requests while versions changed, none failed")
    finally:
        for line in subprocess.run([hone.program, "endpoints", "list", "--json"], env=hone.environment, capture_output=True,
                                   text=True).stdout.splitlines():
            subprocess.run([hone.program, "endpoints", "delete", json.loads(line)["endpoint"]], env=hone.environment,
                           capture_output=True)
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
