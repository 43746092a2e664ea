"""Google Cloud Storage: its JSON interface, its metadata and token servers, and reads by its XML interface."""
import base64
import hashlib
import json
import re
import time
import urllib.parse as url
from concurrent.futures import ThreadPoolExecutor

from .common import (LOCK, Object, Refused, State, StoreHandler, b64, clock, crc32c, extend_crc32c, http_date, now,
                     page_of)


class Google(StoreHandler):
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
