// Amazon S3 and the stores that speak it (MinIO, Ceph, R2, Google's own S3 interface).
//   docs.aws.amazon.com/AmazonS3/latest/API
// AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL names another server; its buckets are in the path.
#include <zlib.h>

#include <atomic>
#include <mutex>

#include "base/core/text.h"
#include "base/store/credentials/aws.h"
#include "base/store/credentials/whole_answer.h"
#include "base/store/objects/listing.h"
#include "base/store/objects/service.h"
#include "base/store/server_clock.h"
#include "base/unicode/base64.h"

namespace hone {
namespace {

constexpr const char* kUploadMark = "x-amz-meta-hone-upload";

// The sum that AWS's own tools send by default, base64 of four bytes.
std::string crc32_base64(std::span<const std::byte> bytes) {
  const uLong sum = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  std::string raw;
  for (int shift = 24; shift >= 0; shift -= 8) raw += static_cast<char>(sum >> shift & 255);
  return encode_base64(raw);
}

using Query = std::vector<std::pair<std::string, std::string>>;  // values are %-encoded

struct S3 {
  std::string bucket, endpoint;  // "" = Amazon's, of the region
  Connections connections;
  AwsCredentials credentials;
  ServerClock clock;
  std::mutex mutex;
  std::string region;
  std::string source = "none";

  S3(std::string bucket_name, const HttpClient::Options& http)
      : bucket(std::move(bucket_name)), connections(http), credentials(http) {
    endpoint = credentials.endpoint();
    while (endpoint.ends_with('/')) endpoint.pop_back();
    region = credentials.region();
    if (region.empty()) region = "us-east-1";
  }

  std::string url_of(const std::string& key) const {
    return fmt::format("s3://{}{}{}", bucket, key.empty() ? "" : "/", key);
  }

  // The target of requests: the server, and the path before a key.
  std::pair<std::string, std::string> place(const std::string& area) const {
    if (!endpoint.empty()) {
      const size_t slash = endpoint.find('/', endpoint.find("://") + 3);
      const std::string path = slash == std::string::npos ? "" : endpoint.substr(slash);
      return {endpoint.substr(0, slash), path + "/" + url_encoded(bucket)};
    }
    // A certificate is for one name before the region, so a bucket with dots goes into the path.
    if (bucket.find('.') != std::string::npos)
      return {fmt::format("https://s3.{}.amazonaws.com", area), "/" + url_encoded(bucket)};
    return {fmt::format("https://{}.s3.{}.amazonaws.com", bucket, area), ""};
  }

  Result<HttpResponse> send(HttpRequest request, const std::string& key, const Query& query = {}) {
    request.name = url_of(key);
    const HttpHeaders own = request.headers;
    bool renewed = false, moved = false, corrected = false;
    for (bool renew = false;; renew = true) {
      std::string area;
      {
        std::lock_guard lock(mutex);
        area = region;
      }
      const AwsKeys keys = HONE_TRY(credentials.keys(renew && renewed));
      const auto [server, before] = place(area);
      std::string path = before + (key.empty() ? "" : "/" + url_encoded(key, "/"));
      if (path.empty()) path = "/";
      request.headers = own;
      const double signed_s = clock.wall_seconds();
      if (!keys.id.empty()) {
        AwsRequest to_sign{.method = request.method,
                           .path = path,
                           .region = area,
                           .payload = "UNSIGNED-PAYLOAD",
                           .query = query,
                           .headers = own};
        to_sign.headers["host"] = server.substr(server.find("://") + 3);
        const HttpHeaders signature = sign_aws(to_sign, keys, signed_s);
        request.headers.insert(signature.begin(), signature.end());
        std::lock_guard lock(mutex);
        source = keys.source;
      }
      request.url = server + path;
      for (size_t i = 0; i < query.size(); ++i)
        request.url += (i == 0 ? "?" : "&") + query[i].first + "=" + query[i].second;
      HttpResponse r = HONE_TRY(connections.send(request));
      // The bucket is in a region that hone did not expect.
      const std::string other = r.header("x-amz-bucket-region");
      if (r.status >= 300 && r.status < 500 && !other.empty() && other != area && !moved) {
        moved = true;
        std::lock_guard lock(mutex);
        region = other;
        continue;
      }
      const bool ended = r.body.find("ExpiredToken") != std::string::npos;
      if ((r.status == 400 || r.status == 401 || r.status == 403) && ended && !renewed) {
        renewed = true;
        continue;
      }
      if (r.status == 403 && !corrected && clock.corrected_by(r, signed_s)) {
        corrected = true;
        continue;
      }
      return r;
    }
  }

  Error refused(const HttpResponse& r, const std::string& key) {
    std::lock_guard lock(mutex);
    std::string why = xml_text(r.body, "Code");
    if (const std::string more = xml_text(r.body, "Message"); !more.empty()) why += ": " + more;
    return refused_by_store(r, url_of(key), source, why);
  }

  Result<std::optional<ObjectInfo>> stat(const std::string& key, std::string* mark = nullptr) {
    const HttpResponse r = HONE_TRY(send({.method = "HEAD"}, key));
    if (r.status == 404) return std::optional<ObjectInfo>();
    if (r.status != 200) return refused(r, key);
    if (mark) *mark = r.header(kUploadMark);
    return std::optional(object_of(r, key, md5_of_etag(r.header("etag"))));
  }
};

// A multipart upload: parts in any order, the object when it is completed.
class S3Upload : public Upload {
 public:
  S3Upload(S3& s3, std::string key, std::string id, std::string mark, Condition condition)
      : s3_(s3),
        key_(std::move(key)),
        id_(std::move(id)),
        mark_(std::move(mark)),
        condition_(std::move(condition)) {}
  ~S3Upload() override {
    if (!done_) (void)s3_.send({.method = "DELETE"}, key_, {{"uploadId", url_encoded(id_)}});
  }

  Status part(int64_t number, int64_t, std::span<const std::byte> bytes, bool) override {
    const std::string sum = crc32_base64(bytes);
    const HttpResponse r = HONE_TRY(s3_.send(
        {.method = "PUT",
         .headers = {{"content-type", "application/octet-stream"}, {"x-amz-checksum-crc32", sum}},
         .body = bytes},
        key_, {{"partNumber", std::to_string(number + 1)}, {"uploadId", url_encoded(id_)}}));
    if (r.status != 200) return s3_.refused(r, key_);
    std::lock_guard lock(mutex_);
    parts_[number] = fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag>{}</Part>",
                                 number + 1, r.header("etag"),
                                 r.header("x-amz-checksum-crc32").empty()
                                     ? ""
                                     : fmt::format("<ChecksumCRC32>{}</ChecksumCRC32>", sum));
    return Ok{};
  }

  Result<ObjectInfo> finish(int64_t bytes, uint32_t) override {
    std::string body =
        "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
    for (const auto& [number, part] : parts_) body += part;
    body += "</CompleteMultipartUpload>";
    HttpHeaders headers = condition_headers(condition_);
    headers["content-type"] = "application/xml";
    const HttpResponse r = HONE_TRY(s3_.send({.method = "POST",
                                              .headers = headers,
                                              .body = std::as_bytes(std::span(body)),
                                              .is_whole = is_whole_xml},
                                             key_, {{"uploadId", url_encoded(id_)}}));
    // The status comes before the work is done: an error may be in the body of a 200.
    const bool good = r.status == 200 && xml_text(r.body, "Code").empty();
    if (!good && r.status != 404 && r.status != 412) {
      if (r.status != 200) return s3_.refused(r, key_);
      HttpResponse failed = r;
      failed.status = 500;
      return s3_.refused(failed, key_);
    }
    done_ = true;
    // An earlier try may have completed it: then the object carries this upload's mark.
    std::string mark;
    std::optional<ObjectInfo> now = HONE_TRY(s3_.stat(key_, &mark));
    if (!good && (!now || mark != mark_)) return s3_.refused(r, key_);
    if (!now || now->bytes != bytes)
      return damaged_upload(s3_.url_of(key_), now ? now->bytes : 0, bytes);
    return std::move(*now);
  }

 private:
  S3& s3_;
  std::string key_, id_, mark_;
  Condition condition_;
  std::mutex mutex_;
  std::map<int64_t, std::string> parts_;
  bool done_ = false;
};

class S3Bucket : public Bucket {
 public:
  S3Bucket(std::string bucket, const HttpClient::Options& http) : s3_(std::move(bucket), http) {}

  Result<std::optional<ObjectInfo>> stat(const std::string& key) override { return s3_.stat(key); }

  Status read(const ObjectInfo& o, int64_t offset, std::span<std::byte> out) override {
    const int64_t last = offset + static_cast<int64_t>(out.size()) - 1;
    HttpHeaders headers = {{"range", fmt::format("bytes={}-{}", offset, last)}};
    if (!o.version.empty()) headers["if-match"] = o.version;
    const HttpResponse r = HONE_TRY(
        s3_.send({.headers = headers, .into = out, .heeds_stop = is_long(out.size())}, o.key));
    if (r.status == 412 || r.status == 404) return changed_while_read(s3_.url_of(o.key));
    if (r.status != 200 && r.status != 206) return s3_.refused(r, o.key);
    return all_there(r, offset, out.size(), s3_.url_of(o.key));
  }

  Result<ObjectPage> list(const std::string& prefix, bool folders, const std::string& page,
                          int most) override {
    Query query = {{"list-type", "2"},
                   {"encoding-type", "url"},
                   {"max-keys", std::to_string(most)},
                   {"prefix", url_encoded(prefix)}};
    if (folders) query.emplace_back("delimiter", "%2F");
    if (!page.empty()) query.emplace_back("continuation-token", url_encoded(page));
    const HttpResponse r = HONE_TRY(s3_.send({.is_whole = is_whole_xml}, "", query));
    if (r.status != 200) return s3_.refused(r, "");
    return HONE_TRY(s3_listing(r.body, s3_.url_of("")));
  }

  Result<ObjectInfo> put(const std::string& key, std::span<const std::byte> bytes,
                         const Condition& condition) override {
    HttpHeaders headers = condition_headers(condition);
    headers["content-type"] = "application/octet-stream";
    headers["x-amz-checksum-crc32"] = crc32_base64(bytes);
    // Its own write is known by this: the ETag of an encrypted object is not an MD5.
    const bool conditional = condition.absent || !condition.version.empty();
    const std::string own = random_name();
    if (conditional) headers[kUploadMark] = own;
    const HttpResponse r =
        HONE_TRY(s3_.send({.method = "PUT", .headers = headers, .body = bytes}, key));
    if (r.status == 200)
      return ObjectInfo{
          .key = key, .bytes = static_cast<int64_t>(bytes.size()), .version = r.header("etag")};
    if (conditional && (r.status == 412 || r.status == 409)) {
      std::string mark;
      std::optional<ObjectInfo> now = HONE_TRY(s3_.stat(key, &mark));
      if (now && mark == own) return std::move(*now);
    }
    return s3_.refused(r, key);
  }

  Result<std::unique_ptr<Upload>> upload(const std::string& key,
                                         const Condition& condition) override {
    const std::string mark = random_name();
    const HttpResponse r =
        HONE_TRY(s3_.send({.method = "POST",
                           .headers = {{"content-type", "application/octet-stream"},
                                       {"x-amz-checksum-algorithm", "CRC32"},
                                       {kUploadMark, mark}},
                           .is_whole = is_whole_xml},
                          key, {{"uploads", ""}}));
    const std::string id = xml_text(r.body, "UploadId");
    if (r.status != 200 || id.empty()) return s3_.refused(r, key);
    return std::unique_ptr<Upload>(new S3Upload(s3_, key, id, mark, condition));
  }

  Status remove(const std::string& key, const std::string& version) override {
    // S3 reports success for removing a missing object.
    if (version.empty() && !HONE_TRY(stat(key))) return s3_.refused(no_answer(404), key);
    HttpRequest request{.method = "DELETE"};
    if (!version.empty() && deletes_conditionally_) {
      request.headers["if-match"] = version;
      const HttpResponse r = HONE_TRY(s3_.send(request, key));
      if (r.status != 501 && xml_text(r.body, "Code") != "NotImplemented") return removed(r, key);
      deletes_conditionally_ = false;
      request.headers.clear();
    }
    if (!version.empty()) {
      const std::optional<ObjectInfo> now = HONE_TRY(stat(key));
      if (!now) return Ok{};
      if (now->version != version) return s3_.refused(no_answer(412), key);
    }
    return removed(HONE_TRY(s3_.send(request, key)), key);
  }

  Status copy(const std::string& from, const std::string& to) override {
    const HttpResponse r =
        HONE_TRY(s3_.send({.method = "PUT",
                           .headers = {{"content-type", "application/octet-stream"},
                                       {"x-amz-copy-source", "/" + url_encoded(s3_.bucket) + "/" +
                                                                 url_encoded(from, "/")}},
                           .is_whole = is_whole_xml},
                          to));
    return r.status == 200 && xml_text(r.body, "Code").empty() ? Status(Ok{})
                                                               : s3_.refused(r, from);
  }

  Status make(const std::string& region) override {
    if (!region.empty()) s3_.region = region;
    std::string body;
    if (s3_.region != "us-east-1")
      body = fmt::format(
          "<CreateBucketConfiguration "
          "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><LocationConstraint>"
          "{}</LocationConstraint></CreateBucketConfiguration>",
          s3_.region);
    const HttpResponse r = HONE_TRY(s3_.send({.method = "PUT",
                                              .headers = {{"content-type", "application/xml"}},
                                              .body = std::as_bytes(std::span(body)),
                                              .idempotent = false},
                                             ""));
    return r.status == 200 ? Status(Ok{}) : s3_.refused(r, "");
  }

  // At most 10,000 parts of at least 5 MiB: up to 78 GiB in parts of 8 MiB, then larger ones, 5 TiB
  // in all.
  int64_t part_bytes(int64_t number) const override {
    return int64_t{8} << (20 + std::min<int64_t>(number / 1000, 7));
  }

 private:
  Status removed(const HttpResponse& r, const std::string& key) {
    // A delete whose answer was lost was done.
    if (r.status == 204 || r.status == 200 || r.status == 404) return Ok{};
    if (r.status == 412 && !HONE_TRY(stat(key))) return Ok{};
    return s3_.refused(r, key);
  }

  S3 s3_;
  std::atomic<bool> deletes_conditionally_{true};  // until the server reports that it cannot
};

Result<std::unique_ptr<Bucket>> open_s3(const std::string&, const std::string& bucket,
                                        const HttpClient::Options& http) {
  return std::unique_ptr<Bucket>(new S3Bucket(bucket, http));
}

}  // namespace

ObjectScheme scheme_s3() { return {.names = {"s3"}, .open = open_s3}; }

}  // namespace hone
