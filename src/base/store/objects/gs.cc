// Google Cloud Storage by its JSON interface.
//   cloud.google.com/storage/docs/json_api/v1
// STORAGE_EMULATOR_HOST or CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE names another server.
//
// Every write has a condition, the generation that it replaces, so that sending it again is safe.
#include <cstring>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/core/url.h"
#include "base/store/crc32c.h"
#include "base/store/credentials/google.h"
#include "base/store/credentials/whole_answer.h"
#include "base/store/objects/listing.h"
#include "base/store/objects/service.h"
#include "base/unicode/base64.h"

namespace hone {
namespace {

constexpr const char* kApi = "/storage/v1";
constexpr int64_t kChunk = 32 << 20;  // part of a resumable upload; a multiple of 256 KiB

std::string big_endian_base64(uint32_t x) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(x >> shift & 255);
  return encode_base64(bytes);
}

struct Gs {
  std::string bucket, server;
  Connections connections;
  std::unique_ptr<GoogleCredentials> credentials;

  std::string url_of(const std::string& key) const {
    return fmt::format("gs://{}{}{}", bucket, key.empty() ? "" : "/", key);
  }
  std::string bucket_name() const { return "/b/" + url_encoded(bucket); }
  std::string bucket_path() const { return kApi + bucket_name(); }
  // "/b/<bucket>/o/<key>"
  std::string object_name(const std::string& key) const {
    return bucket_name() + "/o/" + url_encoded(key);
  }
  std::string object_path(const std::string& key) const { return kApi + object_name(key); }

  // With the account's token; a token that ended too early is renewed once.
  Result<HttpResponse> send(HttpRequest request, const std::string& key) {
    request.name = url_of(key);
    if (!request.url.starts_with("http")) request.url = server + request.url;
    std::string authorization = HONE_TRY(credentials->authorization());
    for (bool again = false;; again = true) {
      if (!authorization.empty()) request.headers["authorization"] = authorization;
      HttpResponse r = HONE_TRY(connections.send(request));
      if (r.status != 401 || again || authorization.empty()) return r;
      authorization = HONE_TRY(credentials->authorization(authorization));
    }
  }

  Error refused(const HttpResponse& r, const std::string& key) const {
    const Result<Json> j = parse_json(r.body, "the answer");
    std::string why;
    if (j.ok() && j->is_object() && j->contains("error") && (*j)["error"].is_object())
      why = (*j)["error"].value("message", "");
    return refused_by_store(r, url_of(key), credentials->source(), why);
  }

  Result<ObjectInfo> object_in(const std::string& body, const std::string& key) const {
    const Result<Json> j = parse_json(body, url_of(key));
    std::optional<ObjectInfo> o = j.ok() ? gs_object(*j) : std::nullopt;
    if (!o)
      return Error(err::kHttpStatus,
                   fmt::format("{}: the server's answer does not describe an object", url_of(key)));
    return std::move(*o);
  }

  Result<std::optional<ObjectInfo>> stat(const std::string& key) {
    const HttpResponse r =
        HONE_TRY(send({.url = object_path(key), .is_whole = is_whole_json}, key));
    if (r.status == 404) {
      // A bucket that does not exist is an Error.
      if (r.body.find("bucket does not exist") == std::string::npos)
        return std::optional<ObjectInfo>();
      return refused(r, "");
    }
    if (r.status != 200) return refused(r, key);
    return std::optional(HONE_TRY(object_in(r.body, key)));
  }

  // The query that makes a write conditional, "ifGenerationMatch=0".
  Result<std::string> condition_query(const std::string& key, const Condition& c) {
    std::string version = c.absent ? "0" : c.version;
    if (version.empty()) {
      const std::optional<ObjectInfo> now = HONE_TRY(stat(key));
      version = now ? now->version : "0";
    }
    return "ifGenerationMatch=" + url_encoded(version);
  }

  // A write whose answer was lost may have been done: then the object has these bytes already.
  Result<ObjectInfo> written(const HttpResponse& r, const std::string& key, int64_t bytes,
                             uint32_t sum) {
    if (r.status == 200 || r.status == 201) {
      ObjectInfo o = HONE_TRY(object_in(r.body, key));
      if (o.bytes == bytes && (!o.crc32c || *o.crc32c == sum)) return o;
      return Error(err::kChecksum,
                   fmt::format("{} was damaged on its way: the server has {} bytes with another "
                               "checksum than the {} that were sent",
                               url_of(key), o.bytes, bytes))
          .todo("run the same command again; the damaged object stays until then");
    }
    if (r.status == 412) {
      std::optional<ObjectInfo> now = HONE_TRY(stat(key));
      if (now && now->bytes == bytes && now->crc32c == sum) return std::move(*now);
    }
    return refused(r, key);
  }
};

// A resumable upload: one session, its parts in order.
class GsUpload : public Upload {
 public:
  GsUpload(Gs& gs, std::string key, std::string session)
      : gs_(gs), key_(std::move(key)), session_(std::move(session)) {}
  ~GsUpload() override {
    if (!answer_) (void)gs_.send({.method = "DELETE", .url = session_}, key_);
  }

  Status part(int64_t, int64_t offset, std::span<const std::byte> bytes, bool last) override {
    sum_ = crc32c(bytes, sum_);
    const int64_t end = offset + static_cast<int64_t>(bytes.size());
    int64_t at = offset;
    // The server may have kept less than was sent, also if a connection broke: its answer has the
    // count.
    for (int without_progress = 0; at < end || (last && !answer_);) {
      const auto rest = bytes.subspan(static_cast<size_t>(at - offset));
      const std::string total = last ? fmt::format("{}", end) : "*";
      HttpRequest put{.method = "PUT",
                      .url = session_,
                      .headers = {{"content-type", "application/octet-stream"}},
                      .body = rest,
                      .is_whole = is_whole_json,
                      .idempotent = false};
      put.headers["content-range"] =
          rest.empty() ? "bytes */" + total : fmt::format("bytes {}-{}/{}", at, end - 1, total);
      if (last) put.headers["x-goog-hash"] = "crc32c=" + big_endian_base64(sum_);
      Result<HttpResponse> r = gs_.send(put, key_);
      if (!r.ok() && !r.error().is(err::kNetwork)) return std::move(r.error());
      if (!r.ok() || r->status >= 500 || r->status == 408)
        r = gs_.send({.method = "PUT",
                      .url = session_,
                      .headers = {{"content-type", "application/octet-stream"},
                                  {"content-range", "bytes */" + total}},
                      .is_whole = is_whole_json},
                     key_);
      const HttpResponse answer = HONE_TRY(std::move(r));
      if (answer.status == 200 || answer.status == 201) {
        answer_ = answer;
        return Ok{};
      }
      if (answer.status != 308) return gs_.refused(answer, key_);
      const std::string range = answer.header("range");  // "bytes=0-99"
      const int64_t kept = range.empty() ? 0 : number_of(range.substr(range.find('-') + 1)) + 1;
      if (kept < offset || kept > end)
        return Error(err::kStoreFailed,
                     fmt::format("{}: the server lost a part of the upload that it had confirmed",
                                 gs_.url_of(key_)))
            .todo("run the same command again");
      without_progress = kept > at ? 0 : without_progress + 1;
      if (without_progress > 8)
        return Error(err::kNetwork,
                     fmt::format("cannot write to {}: the server takes no more bytes after {}",
                                 gs_.url_of(key_), kept));
      at = kept;
    }
    return Ok{};
  }

  Result<ObjectInfo> finish(int64_t bytes, uint32_t sum) override {
    if (!answer_) HONE_TRY(part(0, bytes, {}, true));  // the last one was full
    return gs_.written(*answer_, key_, bytes, sum);
  }

 private:
  Gs& gs_;
  std::string key_, session_;
  uint32_t sum_ = 0;
  std::optional<HttpResponse> answer_;
};

class GsBucket : public Bucket {
 public:
  GsBucket(std::string bucket, std::string server, HttpClient::Options http,
           std::unique_ptr<GoogleCredentials> credentials)
      : gs_{std::move(bucket), std::move(server), Connections(http), std::move(credentials)} {}

  Result<std::optional<ObjectInfo>> stat(const std::string& key) override { return gs_.stat(key); }

  Status read(const ObjectInfo& o, int64_t offset, std::span<std::byte> out) override {
    const int64_t last = offset + static_cast<int64_t>(out.size()) - 1;
    const HttpResponse r = HONE_TRY(
        gs_.send({.url = gs_.object_path(o.key) + "?alt=media&generation=" + url_encoded(o.version),
                  .headers = {{"range", fmt::format("bytes={}-{}", offset, last)}},
                  .into = out,
                  .heeds_stop = is_long(out.size())},
                 o.key));
    if (r.status == 404) return changed_while_read(gs_.url_of(o.key));
    if (r.status != 200 && r.status != 206) return gs_.refused(r, o.key);
    return all_there(r, offset, out.size(), gs_.url_of(o.key));
  }

  Result<ObjectPage> list(const std::string& prefix, bool folders, const std::string& page,
                          int most) override {
    std::string url = fmt::format("{}/o?prefix={}&maxResults={}&projection=noAcl",
                                  gs_.bucket_path(), url_encoded(prefix), most);
    if (folders) url += "&delimiter=%2F";
    if (!page.empty()) url += "&pageToken=" + url_encoded(page);
    const HttpResponse r = HONE_TRY(gs_.send({.url = url, .is_whole = is_whole_json}, ""));
    if (r.status != 200) return gs_.refused(r, "");
    return HONE_TRY(gs_listing(r.body, gs_.url_of("")));
  }

  Result<ObjectInfo> put(const std::string& key, std::span<const std::byte> bytes,
                         const Condition& condition) override {
    const std::string query = HONE_TRY(gs_.condition_query(key, condition));
    const uint32_t sum = crc32c(bytes);
    // Metadata and bytes in one request, so that the server checks the sum.
    const std::string metadata = Json{{"name", key}, {"crc32c", big_endian_base64(sum)}}.dump();
    constexpr std::string_view kBoundary = "===hone-3f1c9a7be2d84605===";
    std::string body = fmt::format(
        "--{0}\r\nContent-Type: application/json; "
        "charset=UTF-8\r\n\r\n{1}\r\n--{0}\r\nContent-Type: "
        "application/octet-stream\r\n\r\n",
        kBoundary, metadata);
    body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    body += fmt::format("\r\n--{}--", kBoundary);
    const HttpResponse r = HONE_TRY(gs_.send(
        {.method = "POST",
         .url = fmt::format("/upload{}/o?uploadType=multipart&{}", gs_.bucket_path(), query),
         .headers = {{"content-type",
                      fmt::format("multipart/related; boundary=\"{}\"", kBoundary)}},
         .body = std::as_bytes(std::span(body)),
         .is_whole = is_whole_json},
        key));
    return gs_.written(r, key, static_cast<int64_t>(bytes.size()), sum);
  }

  Result<std::unique_ptr<Upload>> upload(const std::string& key,
                                         const Condition& condition) override {
    const std::string query = HONE_TRY(gs_.condition_query(key, condition));
    const std::string metadata = Json{{"name", key}}.dump();
    const HttpResponse r = HONE_TRY(gs_.send(
        {.method = "POST",
         .url = fmt::format("/upload{}/o?uploadType=resumable&{}", gs_.bucket_path(), query),
         .headers = {{"content-type", "application/json; charset=UTF-8"},
                     {"x-upload-content-type", "application/octet-stream"}},
         .body = std::as_bytes(std::span(metadata))},
        key));
    const std::string session = r.header("location");
    if (r.status != 200 || !session.starts_with("http")) return gs_.refused(r, key);
    return std::unique_ptr<Upload>(new GsUpload(gs_, key, session));
  }

  Status remove(const std::string& key, const std::string& version) override {
    std::string generation = version;
    if (generation.empty()) {
      const std::optional<ObjectInfo> now = HONE_TRY(stat(key));
      if (!now) return gs_.refused(no_answer(404), key);
      generation = now->version;
    }
    const HttpResponse r = HONE_TRY(gs_.send(
        {
            .method = "DELETE",
            .url = gs_.object_path(key) + "?ifGenerationMatch=" + url_encoded(generation),
        },
        key));
    // A delete whose answer was lost was done.
    if (r.status == 204 || r.status == 200 || r.status == 404) return Ok{};
    return gs_.refused(r, key);
  }

  Status copy(const std::string& from, const std::string& to) override {
    const std::string query = HONE_TRY(gs_.condition_query(to, {}));
    std::string token;
    for (;;) {
      std::string url =
          fmt::format("{}/rewriteTo{}?{}", gs_.object_path(from), gs_.object_name(to), query);
      if (!token.empty()) url += "&rewriteToken=" + url_encoded(token);
      const HttpResponse r = HONE_TRY(gs_.send({.method = "POST",
                                                .url = url,
                                                .headers = {{"content-type", "application/json"}},
                                                .is_whole = is_whole_json},
                                               from));
      if (r.status != 200) return gs_.refused(r, from);
      const Json j = HONE_TRY(parse_json(r.body, gs_.url_of(from)));
      if (j.value("done", false)) return Ok{};
      token = j.value("rewriteToken", "");
    }
  }

  Status make(const std::string& region) override {
    Json body{{"name", gs_.bucket},
              {"iamConfiguration",
               {{"uniformBucketLevelAccess", {{"enabled", true}}},
                {"publicAccessPrevention", "enforced"}}}};
    if (!region.empty()) body["location"] = region;
    const std::string text = body.dump();
    if (gs_.credentials->project().empty())
      return Error(err::kCredentials,
                   fmt::format("{}: no project is known to make it in", gs_.url_of("")))
          .todo("set GOOGLE_CLOUD_PROJECT");
    const HttpResponse r = HONE_TRY(gs_.send(
        {.method = "POST",
         .url = fmt::format("{}/b?project={}", kApi, url_encoded(gs_.credentials->project())),
         .headers = {{"content-type", "application/json; charset=UTF-8"}},
         .body = std::as_bytes(std::span(text)),
         .idempotent = false},
        ""));
    return r.status == 200 ? Status(Ok{}) : gs_.refused(r, "");
  }

  int64_t part_bytes(int64_t) const override { return kChunk; }
  int streams() const override { return 1; }

 private:
  Gs gs_;
};

Result<std::unique_ptr<Bucket>> open_gs(const std::string&, const std::string& bucket,
                                        const HttpClient::Options& http) {
  std::string server = environment("STORAGE_EMULATOR_HOST");
  if (server.empty()) server = environment("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE");
  const bool other = !server.empty();
  if (!other) server = "https://storage.googleapis.com";
  if (!is_url(server)) server = "http://" + server;
  while (server.ends_with('/')) server.pop_back();
  // Another server gets only the credentials that were named for this program.
  bool named = false;
  for (const char* name :
       {"CLOUDSDK_AUTH_ACCESS_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "GCE_METADATA_HOST"})
    named = named || !environment(name).empty();
  auto credentials =
      other && !named ? GoogleCredentials::none() : HONE_TRY(GoogleCredentials::find(http));
  return std::unique_ptr<Bucket>(new GsBucket(bucket, server, http, std::move(credentials)));
}

}  // namespace

ObjectScheme scheme_gs() { return {.names = {"gs"}, .open = open_gs}; }

}  // namespace hone
