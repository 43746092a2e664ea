"""S3: objects, multipart uploads and lists, with signatures of version 4."""
import base64
import hashlib
import hmac
import re
import struct
import time
import urllib.parse as url
import zlib
from xml.sax.saxutils import escape

from .common import LOCK, Object, Refused, State, StoreHandler, b64, clock, crc32c, http_date, page_of

AWS_ID, AWS_SECRET = "hone-test-id", "hone-test-secret"


class S3(StoreHandler):
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
