#!/usr/bin/env python3
"""Object stores on loopback for tests, in memory: Google's JSON interface (with its metadata and token
servers), S3 and Azure Blob, strict where the real ones are.

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
import base64
import calendar
import glob
import hashlib
import hmac
import json
import os
import re
import struct
import subprocess
import sys
import threading
import time
import urllib.parse as url
import zlib
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

# tools/setup.sh check installs it; without it sums are made by a table, slowly.
for folder in glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build/venv/lib/python3*/site-packages")):
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


AWS_ID, AWS_SECRET = "hone-test-id", "hone-test-secret"
AZ_ACCOUNT = "devstoreaccount1"
AZ_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
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


class Handler(BaseHTTPRequestHandler):
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

    def handle_one(self):
        body = self.read_body()
        parts = url.urlsplit(self.path)
        self.query = dict(url.parse_qsl(parts.query, keep_blank_values=True))
        self.fault = None
        if parts.path == "/_fault":
            rule = dict(self.query)
            rule["count"], rule["after"] = int(rule.get("count", 1)), int(rule.get("after", 0))
            State.faults.append(rule)
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

    # --- Google ---

    def identity(self, path, body):
        if path == "/token":
            form = dict(url.parse_qsl(body.decode()))
            if not ("assertion" in form or "refresh_token" in form or "subject_token" in form):
                raise Refused(400, "invalid_request", "no grant")
            if "assertion" in form:
                claims = json.loads(base64.urlsafe_b64decode(form["assertion"].split(".")[1] + "=="))
                if not claims["iat"] - 300 < clock() < claims["exp"]:
                    return self.json(400, {"error": "invalid_grant", "error_description":
                                           "Invalid JWT: Token must be a short-lived token and in a reasonable timeframe."})
            with LOCK:
                State.issued += 1
                token = "token-%d" % State.issued
                State.tokens[token] = True
            return self.json(200, {"access_token": token, "expires_in": 3599, "token_type": "Bearer"})
        flavor = {"Metadata-Flavor": "Google"}
        if self.headers.get("Metadata-Flavor") != "Google":
            return self.answer(403, b"Missing Metadata-Flavor:Google header.", flavor)
        name = path[len("/computeMetadata/v1/"):].rstrip("/")
        if name.endswith("/token"):
            State.issued += 1
            State.tokens["metadata-%d" % State.issued] = True
            return self.json(200, {"access_token": "metadata-%d" % State.issued, "expires_in": 3599,
                                   "token_type": "Bearer"}, flavor)
        if re.fullmatch("instance/service-accounts/[^/]+", name):
            return self.json(200, {"aliases": ["default"], "email": "sa@p1.iam.gserviceaccount.com",
                                   "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}, flavor)
        value = {"": "computeMetadata/\n", "project/project-id": "p1", "instance/preempted": "FALSE",
                 "universe/universe-domain": "googleapis.com", "universe/universe_domain": "googleapis.com",
                 "instance/service-accounts/default/email": "sa@p1.iam.gserviceaccount.com"}.get(name)
        return self.answer(200 if value else 404, (value or "").encode(), flavor)

    def check_token(self):
        given = (self.headers.get("Authorization") or "").replace("Bearer ", "")
        if State.auth and given not in State.tokens:
            raise Refused(401, "authError", "Invalid Credentials",
                          {"WWW-Authenticate": 'Bearer realm="https://accounts.google.com/"'})

    def conditions(self, o, query):
        for name, value, wanted in (("ifGenerationMatch", o.generation if o else 0, True),
                                    ("ifGenerationNotMatch", o.generation if o else 0, False),
                                    ("ifMetagenerationMatch", 1 if o else 0, True),
                                    ("ifMetagenerationNotMatch", 1 if o else 0, False)):
            if name in query and (int(query[name]) == value) != wanted:
                raise Refused(412 if wanted else 304, "conditionNotMet",
                              "At least one of the pre-conditions you specified did not hold.")

    def google_put(self, bucket, name, data, meta, query, sums=None):
        objects = self.objects("gs", bucket)
        new = Object(data, meta, sums=sums)
        for key, value in (("crc32c", new.crc32c), ("md5Hash", b64(new.md5) if new.md5 else "")):
            if value and meta.get(key) and meta[key] != value:
                raise Refused(400, "invalid", 'Provided %s "%s" doesn\'t match calculated %s "%s".' % (
                    key.upper(), meta[key], key.upper(), value))
        with LOCK:
            if self.fault and self.fault["kind"] == "race":
                objects[name] = Object(b"another program's")
            self.conditions(objects.get(name), query)
            objects[name] = new
        return self.resource(bucket, name, new)

    def resource(self, bucket, name, o):
        host = "http://%s" % self.headers["Host"]
        where = "b/%s/o/%s" % (bucket, url.quote(name, ""))
        r = {"kind": "storage#object", "id": "%s/%s/%d" % (bucket, name, o.generation), "name": name,
             "selfLink": "%s/storage/v1/%s" % (host, where), "bucket": bucket, "generation": str(o.generation),
             "mediaLink": "%s/download/storage/v1/%s?generation=%d&alt=media" % (host, where, o.generation),
             "metageneration": "1", "contentType": o.meta.get("contentType") or "application/octet-stream",
             "storageClass": "STANDARD", "size": str(len(o.data)), "crc32c": o.crc32c,
             "etag": b64(str(o.generation).encode()), "timeCreated": o.updated, "updated": o.updated,
             "timeStorageClassUpdated": o.updated, "timeFinalized": o.updated}
        if o.md5:
            r["md5Hash"] = b64(o.md5)
        for key in ("metadata", "cacheControl", "contentEncoding", "contentDisposition", "customTime"):
            if key in o.meta:
                r[key] = o.meta[key]
        return r

    def google(self, path, body):
        self.check_token()
        if path == "/storage/v1/b":
            if self.command == "POST":
                name = json.loads(body)["name"]
                self.make_bucket("gs", name, "conflict")
                return self.json(200, self.bucket_resource(name))
            return self.json(200, {"kind": "storage#buckets",
                                   "items": [self.bucket_resource(n) for k, n in State.buckets if k == "gs"]})
        match = re.fullmatch(r"(?:/resumable)?/upload/storage/v1/b/([^/]+)/o", path)
        if match:
            return self.google_upload(match[1], path, body)
        match = re.fullmatch(r"/storage/v1/b/([^/]+)(/storageLayout)?", path)
        if match:
            self.objects("gs", match[1])
            if match[2]:
                return self.json(200, {"kind": "storage#storageLayout", "bucket": match[1], "location": "US",
                                       "locationType": "multi-region", "hierarchicalNamespace": {"enabled": False}})
            if self.command == "DELETE":
                del State.buckets["gs", match[1]]
                return self.answer(204)
            return self.json(200, self.bucket_resource(match[1]))
        match = re.fullmatch(r"/storage/v1/b/([^/]+)/o", path)
        if match:
            return self.google_list(match[1])
        match = re.fullmatch(r"/storage/v1/b/([^/]+)/o/([^/]+)/(compose|rewriteTo|copyTo)(?:/b/([^/]+)/o/([^/]+))?", path)
        if match:
            return self.google_copy(match, json.loads(body or b"{}"))
        match = re.fullmatch(r"(?:/download)?/storage/v1/b/([^/]+)/o/([^/]+)", path)
        if not match:
            raise Refused(404, "notFound", "Not Found")
        return self.google_object(match[1], url.unquote(match[2]), path.startswith("/download"), body)

    def bucket_resource(self, name):
        return {"kind": "storage#bucket", "id": name, "name": name, "projectNumber": "123", "metageneration": "1",
                "location": "US", "locationType": "multi-region", "storageClass": "STANDARD", "etag": "CAE=",
                "timeCreated": now(), "updated": now(),
                "iamConfiguration": {"uniformBucketLevelAccess": {"enabled": True}}}

    def google_upload(self, bucket, path, body):
        query, kind = self.query, self.query.get("uploadType")
        if "upload_id" in query:
            return self.google_session(bucket, query["upload_id"], body)
        if kind == "media":
            meta = {"contentType": self.headers.get("Content-Type")}
            return self.json(200, self.google_put(bucket, query["name"], body, meta, query))
        if kind == "multipart":
            boundary = re.search(r"boundary=['\"]?([^'\";]+)", self.headers["Content-Type"])[1].encode()
            end = b"\r\n" if body.startswith(b"--" + boundary + b"\r\n") else b"\n"
            parts = (end + body).split(end + b"--" + boundary)[1:3]
            meta = json.loads(parts[0].partition(end + end)[2])
            head, _, data = parts[1].partition(end + end)
            named = re.search(rb"(?i)content-type:\s*([^\r\n]+)", head)
            if named:
                meta.setdefault("contentType", named[1].decode())
            return self.json(200, self.google_put(bucket, query.get("name") or meta["name"], data, meta, query))
        if kind == "resumable":
            meta = json.loads(body) if body else {}
            name = query.get("name") or meta["name"]
            self.conditions(self.objects("gs", bucket).get(name), query)
            if self.headers.get("X-Upload-Content-Type"):
                meta.setdefault("contentType", self.headers["X-Upload-Content-Type"])
            session = hashlib.md5(("%s%f" % (name, time.time())).encode()).hexdigest()
            State.uploads[session] = {"name": name, "meta": meta, "query": query, "data": bytearray(), "done": None,
                                      "crc32c": 0, "md5": hashlib.md5(), "sums": ThreadPoolExecutor(1)}
            where = "http://%s%s?uploadType=resumable&upload_id=%s" % (self.headers["Host"], path, session)
            return self.answer(200, b"", {"X-GUploader-UploadID": session, "Location": where})
        raise Refused(400, "badRequest", "bad uploadType")

    def google_session(self, bucket, session, body):
        s = State.uploads.get(session)
        if not s:
            raise Refused(404, "notFound", "upload not found")
        if self.command == "DELETE":
            del State.uploads[session]
            return self.answer(499)
        if s["done"]:
            return self.json(200, s["done"])
        text = self.headers.get("Content-Range")
        if text:
            match = re.fullmatch(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)", text)
            if not match:
                raise Refused(400, "invalid", "Failed to parse Content-Range header.")
            if match[1]:
                begin, end = int(match[1]), int(match[2])
                if end - begin + 1 != len(body):
                    raise Refused(400, "badRequest", "Content-Range and the body have different sizes")
                if begin > len(s["data"]):
                    raise Refused(503, "backendError", "a gap in the upload")
                final = match[3] != "*" and end + 1 == int(match[3])
                if not final and len(body) % 262144:
                    raise Refused(400, "badRequest", "Invalid request.  There were %d byte(s) in the request body."
                                  "  There should have been a multiple of 262144" % len(body))
                body = body[len(s["data"]) - begin:]
                if self.fault and self.fault["kind"] == "partial":
                    body = body[:self.fault["after"]]
                self.extend(s, body)
            total = match[3]
            if total == "*" or len(s["data"]) < int(total):
                kept = {"Range": "bytes=0-%d" % (len(s["data"]) - 1)} if s["data"] else {}
                kept["X-GUploader-UploadID"] = session
                if self.headers.get("X-GUploader-No-308") == "yes":  # as Go's client asks for
                    return self.answer(200, b"", {**kept, "X-HTTP-Status-Code-Override": "308"})
                return self.answer(308, b"", kept)
        else:
            self.extend(s, body)
        meta = dict(s["meta"])
        for name, key in (("crc32c", "crc32c"), ("md5", "md5Hash")):
            match = re.search(name + r"=([^,]+)", self.headers.get("x-goog-hash") or "")
            if match:
                meta[key] = match[1].strip()
        s["sums"].shutdown()
        sums = (s["crc32c"], s["md5"].digest()) if extend_crc32c else None
        s["done"] = self.google_put(bucket, s["name"], s["data"], meta, s["query"], sums)
        s["data"] = b""
        return self.json(200, s["done"])

    @staticmethod
    def extend(upload, body):
        def add():
            upload["md5"].update(body)
            if extend_crc32c:
                upload["crc32c"] = extend_crc32c(upload["crc32c"], bytes(body))

        upload["data"] += body
        upload["sums"].submit(add)  # while the next bytes come

    def google_list(self, bucket):
        query = self.query
        objects = dict(self.objects("gs", bucket))
        begin, end = query.get("startOffset", ""), query.get("endOffset")
        objects = {k: o for k, o in objects.items() if k >= begin and (not end or k < end)}
        after = base64.b64decode(query["pageToken"]).decode() if query.get("pageToken") else ""
        keys, folders, last = page_of(objects, query.get("prefix", ""), query.get("delimiter"),
                                      min(int(query.get("maxResults", 1000)), 1000), after)
        answer = {"kind": "storage#objects"}
        if keys:
            answer["items"] = [self.resource(bucket, k, objects[k]) for k in keys]
        if folders:
            answer["prefixes"] = folders
        if last:
            answer["nextPageToken"] = b64(last.encode())
        return self.json(200, answer)

    def google_copy(self, match, body):
        bucket, name, verb = match[1], url.unquote(match[2]), match[3]
        objects = self.objects("gs", bucket)
        if verb == "compose":
            sources = body["sourceObjects"]
            if not 1 <= len(sources) <= 32:
                raise Refused(400, "invalid", "The number of source components provided (%d) exceeds the maximum (32)." % len(sources))
            if any(s["name"] not in objects for s in sources):
                raise Refused(404, "notFound", "Object not found")
            data = b"".join(objects[s["name"]].data for s in sources)
            made = self.google_put(bucket, name, data, body.get("destination") or {}, self.query, (crc32c(data), None))
            return self.json(200, made)
        if name not in objects:
            raise Refused(404, "notFound", "No such object: %s/%s" % (bucket, name))
        made = self.google_put(match[4], url.unquote(match[5]), objects[name].data,
                               {k: v for k, v in objects[name].meta.items() if k not in ("crc32c", "md5Hash", "name")},
                               self.query)
        if verb == "copyTo":
            return self.json(200, made)
        return self.json(200, {"kind": "storage#rewriteResponse", "totalBytesRewritten": made["size"],
                               "objectSize": made["size"], "done": True, "resource": made})

    def google_object(self, bucket, name, download, body):
        objects = self.objects("gs", bucket)
        o = objects.get(name)
        if o is None or self.query.get("generation", str(o.generation)) != str(o.generation):
            raise Refused(404, "notFound", "No such object: %s/%s" % (bucket, name))
        with LOCK:
            self.conditions(o, self.query)
            if self.command == "DELETE":
                del objects[name]
                return self.answer(204)
        if self.command in ("PATCH", "PUT"):
            o.meta.update(json.loads(body))
            return self.json(200, self.resource(bucket, name, o))
        if not download and self.query.get("alt") != "media":
            return self.json(200, self.resource(bucket, name, o))
        return self.google_content(o)

    def google_content(self, o):
        sums = "crc32c=" + o.crc32c + (",md5=" + b64(o.md5) if o.md5 else "")
        return self.content(o.data, {
            "Content-Type": o.meta.get("contentType") or "application/octet-stream", "x-goog-hash": sums,
            "x-goog-generation": str(o.generation), "x-goog-metageneration": "1", "ETag": o.etag,
            "x-goog-stored-content-length": str(len(o.data)), "x-goog-stored-content-encoding": "identity",
            "x-goog-storage-class": "STANDARD", "Accept-Ranges": "bytes", "Last-Modified": http_date()},
            self.headers.get("Range"))

    def google_xml(self, path):
        self.check_token()
        bucket, _, name = url.unquote(path)[1:].partition("/")
        o = self.objects("gs", bucket).get(name)
        if o is None:
            raise Refused(404, "notFound", "No such object")
        return self.google_content(o)

    # --- S3 ---

    def check_aws(self, path, body):
        given = self.headers.get("Authorization") or ""
        match = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?"
                             r"SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})", given)
        if not match:
            raise Refused(403, "AccessDenied", "Access Denied")
        if match[1] != AWS_ID:
            raise Refused(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
        payload = self.headers.get("x-amz-content-sha256") or ""
        if re.fullmatch("[0-9a-f]{64}", payload) and payload != hashlib.sha256(body).hexdigest():
            raise Refused(400, "XAmzContentSHA256Mismatch", "The provided x-amz-content-sha256 header does not match.")
        query = "&".join(sorted("%s=%s" % (url.quote(k, "-_.~"), url.quote(v, "-_.~")) for k, v in
                                url.parse_qsl(url.urlsplit(self.path).query, keep_blank_values=True)))
        lines = "".join("%s:%s\n" % (h, " ".join((self.headers.get(h) or "").split())) for h in match[4].split(";"))
        canonical = "\n".join([self.command, path, query, lines, match[4], payload])
        date = self.headers.get("x-amz-date") or ""
        try:
            age = abs(clock() - time.mktime(time.strptime(date, "%Y%m%dT%H%M%SZ")) + time.timezone)
        except ValueError:
            raise Refused(403, "AccessDenied", "bad date") from None
        if age > 900:
            raise Refused(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.")
        text = "\n".join(["AWS4-HMAC-SHA256", date, "%s/%s/s3/aws4_request" % (match[2], match[3]),
                          hashlib.sha256(canonical.encode()).hexdigest()])
        key = ("AWS4" + AWS_SECRET).encode()
        for part in (match[2], match[3], "s3", "aws4_request", text):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        if key.hex() != match[5]:
            raise Refused(403, "SignatureDoesNotMatch", "The request signature we calculated does not match.")

    def s3(self, path, body):
        self.check_aws(path, body)
        bucket, _, key = url.unquote(path)[1:].partition("/")
        query = self.query
        if not key:
            if self.command == "PUT":
                self.make_bucket("s3", bucket, "BucketAlreadyOwnedByYou")
                return self.answer(200)
            objects = self.objects("s3", bucket, "NoSuchBucket")
            if self.command == "POST" and "delete" in query:
                for name in re.findall(rb"<Key>(.*?)</Key>", body):
                    objects.pop(name.decode(), None)
                return self.xml(200, "<DeleteResult/>")
            if query.get("list-type") == "2":
                return self.s3_list(bucket, objects)
            return self.xml(200, "<LocationConstraint/>")
        objects = self.objects("s3", bucket, "NoSuchBucket")
        if self.command == "POST" and "uploads" in query:
            upload = hashlib.md5(("%s%f" % (key, time.time())).encode()).hexdigest()
            State.uploads[upload] = {"parts": {}, "meta": self.s3_meta()}
            return self.xml(200, "<InitiateMultipartUploadResult><Bucket>%s</Bucket><Key>%s</Key><UploadId>%s</UploadId>"
                            "</InitiateMultipartUploadResult>" % (bucket, escape(key), upload))
        if "uploadId" in query:
            return self.s3_upload(bucket, key, objects, body)
        if self.command == "PUT":
            source = self.headers.get("x-amz-copy-source")
            if source:
                from_bucket, _, from_key = url.unquote(source).lstrip("/").partition("/")
                o = self.objects("s3", from_bucket, "NoSuchBucket").get(from_key)
                if o is None:
                    raise Refused(404, "NoSuchKey", "The specified key does not exist.")
                objects[key] = Object(o.data, o.meta)
                return self.xml(200, "<CopyObjectResult><ETag>%s</ETag></CopyObjectResult>" % objects[key].etag)
            sums = self.s3_check_sum(body)
            self.s3_store(objects, key, Object(body, self.s3_meta()))
            return self.answer(200, b"", {"ETag": objects[key].etag, **sums})
        o = objects.get(key)
        if self.command == "DELETE":
            objects.pop(key, None)
            return self.answer(204)
        if o is None:
            raise Refused(404, "NoSuchKey", "The specified key does not exist.")
        if self.headers.get("If-Match", o.etag) != o.etag:
            raise Refused(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
        return self.content(o.data, {"ETag": o.etag, "Content-Type": "application/octet-stream", "Accept-Ranges": "bytes",
                                     "Last-Modified": http_date(), **o.meta}, self.headers.get("Range"))

    def s3_meta(self):
        return {k.lower(): v for k, v in self.headers.items() if k.lower().startswith("x-amz-meta-")}

    def s3_check_sum(self, body):
        sums = {}
        for name, value in (("crc32", zlib.crc32(body)), ("crc32c", None)):
            given = self.headers.get("x-amz-checksum-" + name)
            if given is None:
                continue
            made = b64(struct.pack(">I", crc32c(body) if value is None else value))
            if given != made:
                raise Refused(400, "BadDigest", "The %s you specified did not match the calculated checksum." % name.upper())
            sums["x-amz-checksum-" + name] = made
        given = self.headers.get("Content-MD5")
        if given and given != b64(hashlib.md5(body).digest()):
            raise Refused(400, "BadDigest", "The Content-MD5 you specified did not match what we received.")
        return sums

    def s3_store(self, objects, key, new):
        with LOCK:
            if self.fault and self.fault["kind"] == "race":
                objects[key] = Object(b"another program's")
            now_there = objects.get(key)
            if (self.headers.get("If-None-Match") == "*" and now_there) or (
                    self.headers.get("If-Match") and (not now_there or now_there.etag != self.headers["If-Match"])):
                raise Refused(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
            objects[key] = new

    def s3_upload(self, bucket, key, objects, body):
        upload = State.uploads.get(self.query["uploadId"])
        if upload is None:
            raise Refused(404, "NoSuchUpload", "The specified upload does not exist.")
        if self.command == "DELETE":
            del State.uploads[self.query["uploadId"]]
            return self.answer(204)
        if self.command == "PUT":
            sums = self.s3_check_sum(body)
            etag = '"%s"' % hashlib.md5(body).hexdigest()
            upload["parts"][int(self.query["partNumber"])] = (etag, body)
            return self.answer(200, b"", {"ETag": etag, **sums})
        named = [(int(re.search(r"<PartNumber>(\d+)<", p)[1]), re.search("<ETag>(.*?)<", p)[1]) for p in
                 re.findall("<Part>(.*?)</Part>", body.decode().replace("&quot;", '"'), re.S)]
        parts = upload["parts"]
        if [n for n, _ in named] != sorted(n for n, _ in named) or any(
                n not in parts or parts[n][0].strip('"') != e.strip('"') for n, e in named) or not named:
            raise Refused(400, "InvalidPart", "One or more of the specified parts could not be found.")
        if any(len(parts[n][1]) < 5 << 20 for n, _ in named[:-1]):
            raise Refused(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
        digest = hashlib.md5(b"".join(bytes.fromhex(parts[n][0].strip('"')) for n, _ in named)).hexdigest()
        etag = '"%s-%d"' % (digest, len(named))
        self.s3_store(objects, key, Object(b"".join(parts[n][1] for n, _ in named), upload["meta"], etag))
        del State.uploads[self.query["uploadId"]]
        return self.xml(200, "<CompleteMultipartUploadResult><Bucket>%s</Bucket><Key>%s</Key><ETag>%s</ETag>"
                        "</CompleteMultipartUploadResult>" % (bucket, escape(key), escape(etag)))

    def s3_list(self, bucket, objects):
        query = self.query
        after = base64.b64decode(query["continuation-token"]).decode() if query.get("continuation-token") else query.get("start-after", "")
        keys, folders, last = page_of(dict(objects), query.get("prefix", ""), query.get("delimiter"),
                                      min(int(query.get("max-keys", 1000)), 1000), after)
        quote = url.quote if query.get("encoding-type") == "url" else escape
        text = "<ListBucketResult><Name>%s</Name><IsTruncated>%s</IsTruncated>" % (bucket, "true" if last else "false")
        if query.get("encoding-type") == "url":
            text += "<EncodingType>url</EncodingType>"
        if last:
            text += "<NextContinuationToken>%s</NextContinuationToken>" % b64(last.encode())
        for k in keys:
            o = objects[k]
            text += ("<Contents><Key>%s</Key><LastModified>%s</LastModified><ETag>%s</ETag><Size>%d</Size>"
                     "<StorageClass>STANDARD</StorageClass></Contents>" % (quote(k), o.updated, escape(o.etag), len(o.data)))
        text += "".join("<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>" % quote(f) for f in folders)
        return self.xml(200, text + "</ListBucketResult>")

    # --- Azure ---

    def check_azure(self, path):
        h = self.headers
        given = h.get("Authorization") or ""
        try:
            age = abs(clock() - calendar.timegm(time.strptime(h.get("x-ms-date") or h.get("Date") or "", "%a, %d %b %Y %H:%M:%S GMT")))
        except ValueError:
            age = 1e9
        if age > 900:
            raise Refused(403, "AuthenticationFailed", "Request date header not specified or too old.")
        length = h.get("Content-Length") or ""
        own = "".join("%s:%s\n" % (k.lower(), h[k].strip()) for k in sorted(h.keys(), key=str.lower)
                      if k.lower().startswith("x-ms-"))
        query = url.parse_qs(url.urlsplit(self.path).query, keep_blank_values=True)
        where = "/" + AZ_ACCOUNT + path + "".join("\n%s:%s" % (k.lower(), ",".join(sorted(v))) for k, v in sorted(query.items()))
        lines = [self.command, h.get("Content-Encoding") or "", h.get("Content-Language") or "", "" if length == "0" else length,
                 h.get("Content-MD5") or "", h.get("Content-Type") or "", "" if h.get("x-ms-date") else h.get("Date") or "",
                 h.get("If-Modified-Since") or "", h.get("If-Match") or "", h.get("If-None-Match") or "",
                 h.get("If-Unmodified-Since") or "", h.get("Range") or ""]
        made = b64(hmac.new(base64.b64decode(AZ_KEY), ("\n".join(lines) + "\n" + own + where).encode(), hashlib.sha256).digest())
        if given != "SharedKey %s:%s" % (AZ_ACCOUNT, made):
            raise Refused(403, "AuthenticationFailed", "Server failed to authenticate the request.")

    def azure(self, path, body):
        self.check_azure(path)
        container, _, name = url.unquote(path)[len(AZ_ACCOUNT) + 2:].partition("/")
        query, method = self.query, self.command
        base = {"x-ms-version": "2021-08-06", "x-ms-request-id": "1", "Last-Modified": http_date()}
        if not name:
            if method == "PUT":
                self.make_bucket("az", container, "ContainerAlreadyExists")
                return self.answer(201, b"", base)
            objects = self.objects("az", container, "ContainerNotFound")
            if query.get("comp") == "list":
                return self.azure_list(container, objects)
            return self.answer(200, b"", base)
        objects = self.objects("az", container, "ContainerNotFound")
        o = objects.get(name)
        if method == "PUT":
            md5 = self.headers.get("Content-MD5")
            if md5 and md5 != b64(hashlib.md5(body).digest()):
                raise Refused(400, "Md5Mismatch", "The MD5 value specified in the request did not match.")
            if query.get("comp") == "block":
                State.blocks[container, name, query["blockid"]] = body
                return self.answer(201, b"", base)
            meta = {k.lower(): v for k, v in self.headers.items() if k.lower().startswith("x-ms-meta-")}
            if query.get("comp") == "blocklist":
                ids = re.findall("<(?:Latest|Uncommitted)>([^<]+)<", body.decode())
                if any((container, name, i) not in State.blocks for i in ids):
                    raise Refused(400, "InvalidBlockList", "The specified block list is invalid.")
                data = b"".join(State.blocks[container, name, i] for i in ids)
            elif self.headers.get("x-ms-copy-source"):
                source = url.unquote(url.urlsplit(self.headers["x-ms-copy-source"]).path)[len(AZ_ACCOUNT) + 2:]
                from_container, _, from_name = source.partition("/")
                found = self.objects("az", from_container, "ContainerNotFound").get(from_name)
                if found is None:
                    raise Refused(404, "BlobNotFound", "The specified blob does not exist.")
                objects[name] = Object(found.data, found.meta)
                return self.answer(202, b"", {**base, "x-ms-copy-status": "success", "ETag": objects[name].etag})
            else:
                data, ids = body, []
                meta["content-md5"] = b64(hashlib.md5(body).digest())
            with LOCK:
                if self.fault and self.fault["kind"] == "race":
                    objects[name] = Object(b"another program's")
                o = objects.get(name)
                if self.headers.get("If-None-Match") == "*" and o:
                    raise Refused(409, "BlobAlreadyExists", "The specified blob already exists.")
                if self.headers.get("If-Match") and (not o or o.etag != self.headers["If-Match"]):
                    raise Refused(412, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met.")
                objects[name] = o = Object(data, meta)
                o.etag = '"0x%X"' % o.generation
                for i in ids:
                    State.blocks.pop((container, name, i), None)
            return self.answer(201, b"", {**base, "ETag": o.etag})
        if o is None:
            raise Refused(404, "BlobNotFound", "The specified blob does not exist.")
        if self.headers.get("If-Match", o.etag) != o.etag:
            raise Refused(412, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met.")
        if method == "DELETE":
            del objects[name]
            return self.answer(202, b"", base)
        return self.content(o.data, {**base, "ETag": o.etag, "x-ms-blob-type": "BlockBlob", "Accept-Ranges": "bytes",
                                     "Content-Type": "application/octet-stream", **o.meta},
                            self.headers.get("x-ms-range") or self.headers.get("Range"))

    def azure_list(self, container, objects):
        query = self.query
        after = base64.b64decode(query["marker"]).decode() if query.get("marker") else ""
        keys, folders, last = page_of(dict(objects), query.get("prefix", ""), query.get("delimiter"),
                                      min(int(query.get("maxresults", 5000)), 5000), after)
        text = '<EnumerationResults ServiceEndpoint="http://127.0.0.1/%s" ContainerName="%s"><Blobs>' % (AZ_ACCOUNT, container)
        for k in keys:
            o = objects[k]
            text += ("<Blob><Name>%s</Name><Properties><Last-Modified>%s</Last-Modified><Etag>%s</Etag><Content-Length>%d"
                     "</Content-Length><Content-Type>application/octet-stream</Content-Type><BlobType>BlockBlob</BlobType>"
                     "</Properties></Blob>" % (escape(k), http_date(), escape(o.etag), len(o.data)))
        text += "".join("<BlobPrefix><Name>%s</Name></BlobPrefix>" % escape(f) for f in folders)
        marker = "<NextMarker>%s</NextMarker>" % b64(last.encode()) if last else "<NextMarker/>"
        return self.xml(200, text + "</Blobs>" + marker + "</EnumerationResults>")


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
        rule = dict(url.parse_qsl(query))
        rule["count"], rule["after"] = int(rule.get("count", 1)), int(rule.get("after", 0))
        State.faults.append(rule)
    server = Server(("127.0.0.1", args.port), Handler)
    port = server.server_address[1]
    if not args.run:
        print("port %d" % port, flush=True)
        server.serve_forever()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.exit(subprocess.call(args.run, env={**os.environ, **environment(port)}))


if __name__ == "__main__":
    main()
