#!/usr/bin/env python3
"""A model hub on loopback for tests: serves a folder with the routes of the Hugging Face hub.

    tools/fake_hub.py --root DIR [--port 0]     prints "port N" and serves until killed
    tools/fake_hub.py --root DIR [--fault QUERY] --run COMMAND ...
                                                runs a command with HF_ENDPOINT set, then ends
                                                with its exit status

DIR/<org>/<name>/ or DIR/<name>/ is a model, DIR/datasets/<org>/<name>/ or DIR/datasets/<name>/ a
data set; its commit is made from its content. Branches are 'main', and every folder
DIR/.../<name>@<branch>, '/' written as %2F (<name>@refs%2Fconvert%2Fparquet). A file '.gated' in a
repository asks for the token 'good-token', '.private' hides it from all others; a file '.moved'
holds the name that the repository has now, to which is redirected. Files of 1,000 bytes or more count as large: they have a SHA-256 etag and are
redirected to /cdn/.

Faults and log:   GET /_fault?kind=K&match=TEXT&count=N&after=BYTES   the next N requests whose
path contains TEXT (HEAD never) suffer: cut (the connection ends after so many bytes of the body),
status (503), corrupt (one byte differs), norange (the range is ignored), drip (after so many bytes
one comes each quarter of a second), endless (an answer of spaces without end), retry_nan (503 with
Retry-After: nan).
GET /_log?clear=1   the requests so far, as JSON: [{"method", "path", "range", "authorization"}].
"""
import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LARGE = 1000


class Model:
    def __init__(self, folder):
        self.files = {}
        for base, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(base, name)
                self.files[os.path.relpath(path, folder)] = open(path, "rb").read()
        self.gated = self.files.pop(".gated", None) is not None
        self.private = self.files.pop(".private", None) is not None
        tree = "".join(f"{n} {hashlib.sha1(b).hexdigest()}\n" for n, b in sorted(self.files.items()))
        self.commit = hashlib.sha1(tree.encode()).hexdigest()


def git_id(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def etag_of(data):
    return hashlib.sha256(data).hexdigest() if len(data) >= LARGE else git_id(data)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    root, faults, log = ".", [], []

    def log_message(self, *args):
        pass

    def find(self, name, revision):
        """A Model, or an error (status, code)."""
        base = os.path.join(self.root, name)
        given = self.headers.get("Authorization")
        if not os.path.isdir(base):
            return 404, "RepoNotFound"
        main = Model(base)
        if main.private and given != "Bearer good-token":
            return 404 if given else 401, "RepoNotFound"
        branch = os.path.join(self.root, f"{name}@{urllib.parse.quote(revision, safe='')}")
        if os.path.isdir(branch):
            model = Model(branch)
        elif revision in ("main", main.commit):
            model = main
        else:
            model = next((m for m in self.branches(name) if m.commit == revision), None)
            if model is None:
                return 404, "RevisionNotFound"
        if model.gated:
            if given != "Bearer good-token":
                return 403 if given else 401, "GatedRepo"
        return model

    def moved(self, name):
        """The name that a repository has now, when it had this one before."""
        path = os.path.join(self.root, name, ".moved")
        return open(path, encoding="utf-8").read().strip() if os.path.isfile(path) else None

    def branches(self, name):
        parent, last = os.path.split(os.path.join(self.root, name))
        return [Model(os.path.join(parent, d)) for d in os.listdir(parent) if d.startswith(last + "@")]

    def answer(self, status, headers=(), body=b""):
        self.send_response(status)
        for key, value in dict(headers).items():
            self.send_header(key, value)
        if "Content-Length" not in dict(headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, code):
        self.answer(status, {"X-Error-Code": code, "X-Error-Message": f"made up: {code}"}, b"{}")

    def fault(self, kind):
        for f in self.faults:
            if f["kind"] == kind and f["count"] > 0 and f["match"] in self.path and self.command == "GET":
                f["count"] -= 1
                return f
        return None

    def send_data(self, data, headers):
        headers = dict(headers, **{"Accept-Ranges": "bytes"})
        if self.fault("corrupt") and data:
            data = bytes([data[0] ^ 1]) + data[1:]
        status, start, end = 200, 0, len(data)
        wanted = re.match(r"bytes=(\d+)-(\d*)$", self.headers.get("Range") or "")
        if wanted and not self.fault("norange"):
            start = int(wanted.group(1))
            end = min(len(data), int(wanted.group(2)) + 1) if wanted.group(2) else len(data)
            if start >= len(data):
                return self.answer(416, {"Content-Range": f"bytes */{len(data)}"})
            status = 206
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(data)}"
        data = data[start:end]
        headers["Content-Length"] = str(len(data))
        drip = self.fault("drip")
        if drip:  # a byte now and then
            self.answer(status, headers, data[: drip["after"]])
            for byte in data[drip["after"]:]:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(0.25)
            return None
        cut = self.fault("cut")
        if cut:
            self.answer(status, headers, data[: cut["after"]])
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(2)
            return None
        return self.answer(status, headers, data)

    def control(self, url):
        if url.path == "/_fault":
            add_fault(url.query)
            return self.answer(200)
        body = json.dumps(self.log).encode()
        if "clear" in url.query:
            self.log.clear()
        return self.answer(200, {}, body)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path in ("/_fault", "/_log"):
            return self.control(url)
        self.log.append({"method": self.command, "path": self.path, "range": self.headers.get("Range"),
                         "authorization": self.headers.get("Authorization")})
        if self.fault("status"):
            return self.answer(503)
        if self.fault("retry_nan"):
            return self.answer(503, {"Retry-After": "nan"})
        if self.fault("endless"):
            self.send_response(200)
            self.end_headers()
            self.close_connection = True
            while True:
                self.wfile.write(b" " * (1 << 20))
        path = urllib.parse.unquote(url.path)
        api = re.match(r"/api/(models|datasets)/([^/]+(?:/[^/]+)??)(?:/(revision|tree)/([^/]+))?$", url.path)
        if api:
            kind, name, what, revision = api.groups()
            moved = self.moved("datasets/" + name if kind == "datasets" else name)
            if moved:
                return self.answer(307, {"Location": self.path.replace(f"/{kind}/{name}", f"/{kind}/{moved}", 1)})
            model = self.find(name if kind == "models" else "datasets/" + name,
                              urllib.parse.unquote(revision or "main"))
            if isinstance(model, tuple):
                return self.refuse(*model)
            if what == "tree":  # huggingface_hub asks for it, hone does not
                body = [{"type": "file", "path": n, "size": len(b), "oid": git_id(b)}
                        for n, b in sorted(model.files.items())]
            else:
                body = {"id": name, "sha": model.commit,
                        "siblings": [{"rfilename": n} for n in sorted(model.files)]}
            return self.answer(200, {"Content-Type": "application/json"}, json.dumps(body).encode())
        blob = re.match(r"/cdn/(.+)$", path)
        if blob:
            return self.cdn(blob.group(1))
        file = re.match(r"/((?:datasets/)?[^/]+(?:/[^/]+)??)/resolve/([^/]+)/(.+)$", url.path)
        if not file:
            return self.refuse(404, "EntryNotFound")
        name, revision, inner = (urllib.parse.unquote(g) for g in file.groups())
        moved = self.moved(name)
        if moved:
            kind = "datasets/" if name.startswith("datasets/") else ""
            return self.answer(307, {"Location": self.path.replace(f"/{name}/", f"/{kind}{moved}/", 1)})
        model = self.find(name, revision)
        if isinstance(model, tuple):
            return self.refuse(*model)
        data = model.files.get(inner)
        if data is None:
            return self.refuse(404, "EntryNotFound")
        headers = {"X-Repo-Commit": model.commit}
        if len(data) < LARGE:
            return self.send_data(data, dict(headers, ETag=f'"{etag_of(data)}"'))
        # Another host than the hub's, as in the world: tokens must not follow there.
        host = f"localhost:{self.server.server_address[1]}"
        headers.update({"X-Linked-Etag": f'"{etag_of(data)}"', "X-Linked-Size": str(len(data)),
                        "Location": f"http://{host}/cdn/{name}/{model.commit}/"
                                    + urllib.parse.quote(inner)})
        return self.answer(302, headers)

    def cdn(self, rest):
        name, commit, file = re.match(r"(.+)/([0-9a-f]{40})/(.+)$", rest).groups()
        for model in [Model(os.path.join(self.root, name)), *self.branches(name)]:
            if model.commit == commit and file in model.files:
                data = model.files[file]
                return self.send_data(data, {"ETag": f'"{hashlib.md5(data).hexdigest()}"'})
        return self.refuse(404, "EntryNotFound")

    do_HEAD = do_GET


def add_fault(query):
    q = {k: v[0] for k, v in urllib.parse.parse_qs(query).items()}
    Handler.faults.append({"kind": q["kind"], "match": q.get("match", ""),
                           "count": int(q.get("count", 1)), "after": int(q.get("after", 0))})


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # cut connections are meant


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--fault", action="append", default=[])
    parser.add_argument("--run", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    Handler.root = args.root
    for query in args.fault:
        add_fault(query)
    server = Server(("127.0.0.1", args.port), Handler)
    if args.run:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        sys.exit(subprocess.run(args.run, env=dict(os.environ, HF_ENDPOINT=endpoint, HF_HUB_OFFLINE="0",
                                                   no_proxy="127.0.0.1,localhost")).returncode)
    print(f"port {server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
