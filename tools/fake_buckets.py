#!/usr/bin/env python3
"""Object stores on loopback for tests, in memory: Google's JSON interface (with its metadata and token
servers), S3 and Azure Blob, strict where the real ones are. tools/fake_stores has a module for each.

    tools/fake_buckets.py [--port 0]            prints "port N" and serves until killed
    tools/fake_buckets.py [--fault QUERY]... [--bucket NAME]... --run COMMAND ...
                                                runs a command with the variables that name this server
                                                (environment() below), then ends with its exit status

Conditions, ranges, checksums, sizes of parts and, for S3 and Azure, signatures are checked as the real
stores do. --auth: Google's part asks for a token too, which its token and metadata servers give.

Faults and log:   GET /_fault?kind=K&match=TEXT&method=M&count=N&after=BYTES   the next N requests whose
path contains TEXT suffer: status (code=503; after is Retry-After), reset (the connection ends before
anything is done), lost (it is done, but no answer comes), cut (the connection ends after so many bytes
of the body), short (the answer is shorter, but says so), corrupt (one byte differs), partial (a resumable upload keeps only so many bytes), race
(another program writes the object first), expire (all tokens so far have ended), stall (nothing comes
for so many seconds).
GET /_clock?seconds=N   the server's clock is so far ahead of the machine's from here on.
GET /_log?clear=1   the requests so far: [{"method", "path", "range", "bytes", "authorization"}].
"""
import argparse
import os
import re
import subprocess
import sys
import threading
import time
import urllib.parse as url
from http.server import ThreadingHTTPServer
from xml.sax.saxutils import escape

from fake_stores.azure import AZ_ACCOUNT, AZ_KEY, Azure
from fake_stores.common import LOCK, Refused, State
from fake_stores.gcs import Google
from fake_stores.s3 import AWS_ID, AWS_SECRET, S3


def add_fault(query):
    State.faults.append({**query, "count": int(query.get("count", 1)), "after": int(query.get("after", 0))})


class Handler(Google, S3, Azure):
    """Finds the store of a request by its path and headers."""

    def handle_one(self):
        body = self.read_body()
        parts = url.urlsplit(self.path)
        self.query = dict(url.parse_qsl(parts.query, keep_blank_values=True))
        self.fault = None
        if parts.path == "/_fault":
            add_fault(self.query)
            return self.answer(200)
        if parts.path == "/_clock":
            State.ahead = float(self.query["seconds"])
            return self.answer(200)
        if parts.path == "/_log":
            log = list(State.log)
            if self.query.get("clear"):
                State.log.clear()
            return self.json(200, log)
        with LOCK:
            State.log.append({"method": self.command, "path": self.path, "bytes": len(body),
                              "range": self.headers.get("Range") or self.headers.get("x-ms-range"),
                              "authorization": (self.headers.get("Authorization") or "").split(" ")[0]})
            for rule in State.faults:
                if (rule["count"] > 0 and rule.get("match", "") in url.unquote(self.path)
                        and rule.get("method", self.command) == self.command):
                    rule["count"] -= 1
                    self.fault = rule
                    break
        kind = self.fault["kind"] if self.fault else ""
        if kind == "reset":
            self.close_connection = True
            return
        if kind == "stall":
            time.sleep(self.fault["after"])
        if kind == "expire":
            State.tokens.clear()
        if kind == "status":
            retry = {"Retry-After": str(self.fault["after"])} if self.fault["after"] else {}
            return self.answer(int(self.fault.get("code", 503)), b"", retry)
        path = parts.path
        if path == "/" or path.startswith("/computeMetadata") or path == "/token":
            return self.identity(path, body)
        if re.match(r"(/download|/upload|/resumable/upload)?/storage/v1/b(/|$)", path):
            return self.google(path, body)
        if path.startswith("/%s/" % AZ_ACCOUNT):
            return self.azure(path, body)
        if (self.headers.get("Authorization") or "").startswith("AWS4") or self.headers.get("x-amz-date"):
            return self.s3(path, body)
        return self.google_xml(path)

    def go(self):
        try:
            self.handle_one()
        except Refused as e:
            if self.path.startswith("/%s/" % AZ_ACCOUNT):
                self.xml(e.status, "<Error><Code>%s</Code><Message>%s</Message></Error>" % (e.reason, escape(e.message)),
                         {"x-ms-error-code": e.reason, **e.headers})
            elif (self.headers.get("Authorization") or "").startswith("AWS4"):
                self.xml(e.status, "<Error><Code>%s</Code><Message>%s</Message></Error>" % (e.reason, escape(e.message)), e.headers)
            elif e.status == 304:
                self.answer(304)
            else:
                self.json(e.status, {"error": {"code": e.status, "message": e.message, "errors": [
                    {"message": e.message, "domain": "global", "reason": e.reason}]}}, e.headers)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = go


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # a client that was killed
            super().handle_error(request, client_address)


def environment(port):
    """The variables that name this server to hone and to the clouds' own tools."""
    here = "http://127.0.0.1:%d" % port
    values = {
        "STORAGE_EMULATOR_HOST": here,
        "AWS_ENDPOINT_URL_S3": here, "AWS_ACCESS_KEY_ID": AWS_ID, "AWS_SECRET_ACCESS_KEY": AWS_SECRET,
        "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
        "AZURE_STORAGE_CONNECTION_STRING": "AccountName=%s;AccountKey=%s;BlobEndpoint=%s/%s" % (
            AZ_ACCOUNT, AZ_KEY, here, AZ_ACCOUNT),
        "GOOGLE_CLOUD_PROJECT": "p1", "FAKE_BUCKETS": here, "no_proxy": "127.0.0.1,localhost",
    }
    if State.auth:
        values["GCE_METADATA_HOST"] = "127.0.0.1:%d" % port
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--auth", action="store_true")
    parser.add_argument("--bucket", action="append", default=[], help="gs://NAME, s3://NAME, az://NAME: there from the start")
    parser.add_argument("--fault", action="append", default=[])
    parser.add_argument("--run", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    State.auth = args.auth
    for bucket in args.bucket:
        kind, _, name = bucket.partition("://")
        State.buckets[kind, name] = {}
    for query in args.fault:
        add_fault(dict(url.parse_qsl(query)))
    server = Server(("127.0.0.1", args.port), Handler)
    port = server.server_address[1]
    if not args.run:
        print("port %d" % port, flush=True)
        server.serve_forever()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.exit(subprocess.call(args.run, env={**os.environ, **environment(port)}))


if __name__ == "__main__":
    main()
