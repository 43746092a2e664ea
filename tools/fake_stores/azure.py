"""Azure Blob Storage: block blobs and lists, with signatures of a shared key."""
import base64
import calendar
import hashlib
import hmac
import re
import time
import urllib.parse as url
from xml.sax.saxutils import escape

from .common import LOCK, Object, Refused, State, StoreHandler, b64, clock, http_date, page_of

AZ_ACCOUNT = "devstoreaccount1"
AZ_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


class Azure(StoreHandler):
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
            return self.azure_put(container, name, objects, body, base)
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

    def azure_put(self, container, name, objects, body, base):
        query = self.query
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
