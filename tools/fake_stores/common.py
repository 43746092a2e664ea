"""The parts that the fakes of object stores share: state, objects, faults and answers of HTTP."""
import base64
import glob
import hashlib
import json
import os
import re
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler

# tools/setup.sh check installs it; without it sums are made by a table, slowly.
for folder in glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/venv/lib/python3*/site-packages")):
    sys.path.append(folder)
try:
    import google_crc32c

    crc32c, extend_crc32c = google_crc32c.value, google_crc32c.extend
except ImportError:
    TABLE = []
    for n in range(256):
        for _ in range(8):
            n = (n >> 1) ^ (0x82F63B78 if n & 1 else 0)
        TABLE.append(n)

    def crc32c(data):
        c = 0xFFFFFFFF
        for b in data:
            c = (c >> 8) ^ TABLE[(c ^ b) & 255]
        return c ^ 0xFFFFFFFF

    extend_crc32c = None


LOCK = threading.RLock()
NOT_FOUND = "The specified bucket does not exist."


def b64(raw):
    return base64.b64encode(raw).decode()


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())


def clock():
    return time.time() + State.ahead


def http_date():
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())


class Object:
    count = 1700000000000000

    def __init__(self, data, meta=None, etag=None, sums=None):
        with LOCK:
            Object.count += 1
            self.generation = Object.count
        self.data, self.meta, self.updated = data, dict(meta or {}), now()
        # `sums` were made while the bytes came; a composed object has no MD5.
        self.crc32c, self.md5 = sums or (crc32c(data), hashlib.md5(data).digest())
        self.crc32c = b64(struct.pack(">I", self.crc32c))
        self.etag = etag or '"%s"' % (self.md5.hex() if self.md5 else "%x" % self.generation)


class Refused(Exception):
    def __init__(self, status, reason, message, headers=None):
        super().__init__(message)
        self.status, self.reason, self.message, self.headers = status, reason, message, headers or {}


class State:
    buckets = {}  # (kind, name): {key: Object}
    uploads = {}
    blocks = {}
    tokens = {"metadata-token": True}
    issued = 0
    faults, log = [], []
    auth = False
    ahead = 0  # seconds of its clock


def page_of(objects, prefix, delimiter, most, after):
    """Objects and common prefixes after the key `after`, and the last key when there are more."""
    keys, folders, last = [], [], None
    for key in sorted(objects):
        if not key.startswith(prefix) or (after and key <= after):
            continue
        rest = key[len(prefix):]
        folder = prefix + rest.split(delimiter)[0] + delimiter if delimiter and delimiter in rest else None
        if folder and folders and folders[-1] == folder:
            last = key
            continue
        if after and folder and after.startswith(folder):
            continue
        if len(keys) + len(folders) >= most:
            return keys, folders, last
        (folders if folder else keys).append(folder or key)
        last = key
    return keys, folders, None


class StoreHandler(BaseHTTPRequestHandler):
    """Reads requests, injects faults and writes answers; each store adds its own requests."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def date_time_string(self, timestamp=None):
        return super().date_time_string(clock() if timestamp is None else timestamp)

    def read_body(self):
        if "chunked" in (self.headers.get("Transfer-Encoding") or "").lower():
            parts = []
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                if size == 0:
                    while self.rfile.readline().strip():
                        pass
                    return b"".join(parts)
                parts.append(self.rfile.read(size))
                self.rfile.readline()
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        if len(body) < size:
            raise ConnectionError("the client went away")
        return body

    def answer(self, status, body=b"", headers=None, kind=None):
        headers = dict(headers or {})
        if kind:
            headers["Content-Type"] = kind
        fault = self.fault
        if fault and fault["kind"] == "lost":
            self.close_connection = True
            return
        if fault and fault["kind"] == "corrupt" and body:
            body = bytearray(body)
            body[len(body) // 2] ^= 1
        if fault and fault["kind"] == "short" and body:
            body = body[:fault["after"]]
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        if status not in (204, 304) and "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD" or status in (204, 304):
            return
        if fault and fault["kind"] == "cut":
            self.wfile.write(body[:fault["after"]])
            self.close_connection = True
            return
        self.wfile.write(body)

    def json(self, status, value, headers=None):
        self.answer(status, json.dumps(value).encode(), headers, "application/json; charset=UTF-8")

    def xml(self, status, text, headers=None):
        self.answer(status, ('<?xml version="1.0" encoding="UTF-8"?>' + text).encode(), headers, "application/xml")

    def objects(self, kind, bucket, code="notFound"):
        found = State.buckets.get((kind, bucket))
        if found is None:
            raise Refused(404, code, NOT_FOUND)
        return found

    def make_bucket(self, kind, name, code):
        if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]", name):
            raise Refused(400, "InvalidBucketName" if code != "conflict" else "invalid", "Invalid bucket name: " + name)
        with LOCK:
            if (kind, name) in State.buckets:
                raise Refused(409, code, "You already own it.")
            State.buckets[kind, name] = {}

    def content(self, data, headers, range_text):
        """The object, or the range of it that is asked for."""
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", range_text or "")
        if match:
            if match[1]:
                begin, end = int(match[1]), min(int(match[2] or len(data)), len(data) - 1)
            else:
                begin, end = max(0, len(data) - int(match[2])), len(data) - 1
            if begin >= len(data):
                raise Refused(416, "InvalidRange", "Requested range not satisfiable",
                              {"Content-Range": "bytes */%d" % len(data)})
            headers["Content-Range"] = "bytes %d-%d/%d" % (begin, end, len(data))
            return self.answer(206, memoryview(data)[begin:end + 1], headers)
        if self.command == "HEAD":
            headers["Content-Length"] = str(len(data))
        return self.answer(200, data, headers)
