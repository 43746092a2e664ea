// Azure Blob storage: block blobs of a container.
//   learn.microsoft.com/rest/api/storageservices/blob-service-rest-api
// az://CONTAINER/KEY takes the account from the environment (azure.h);
// abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY names it.
#include <mutex>

#include "base/core/text.h"
#include "base/store/credentials/azure.h"
#include "base/store/credentials/crypto.h"
#include "base/store/credentials/whole_answer.h"
#include "base/store/objects/listing.h"
#include "base/store/objects/service.h"
#include "base/store/server_clock.h"
#include "base/unicode/base64.h"

namespace hone {
namespace {

constexpr const char* kAzUploadMark = "x-ms-meta-hone_upload";

using AzQuery = std::map<std::string, std::string>;  // values as they are

std::string md5_base64(std::span<const std::byte> bytes) { return encode_base64(md5(bytes)); }

// "Fri, 20 Nov 2026 00:00:00 GMT"
std::string http_date(double wall_seconds) {
  const auto now = static_cast<std::time_t>(wall_seconds);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[64];
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc);
  return text;
}

struct Az {
  std::string container;
  Connections connections;
  std::unique_ptr<AzureCredentials> credentials;
  ServerClock clock = {};

  std::string url_of(const std::string& key) const {
    return fmt::format("az://{}{}{}", container, key.empty() ? "" : "/", key);
  }

  // The text that Shared Key signs.
  //   learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
  std::string text_to_sign(const HttpRequest& request, const std::string& path,
                           const AzQuery& query) const {
    const auto header = [&](const char* name) {
      const auto it = request.headers.find(name);
      return it == request.headers.end() ? std::string() : it->second;
    };
    const std::string length = request.body.empty() ? "" : std::to_string(request.body.size());
    std::string text =
        join({request.method, header("content-encoding"), header("content-language"), length,
              header("content-md5"), header("content-type"), "" /* x-ms-date */,
              header("if-modified-since"), header("if-match"), header("if-none-match"),
              header("if-unmodified-since"), header("range")},
             "\n") +
        "\n";
    for (const auto& [name, value] : request.headers)
      if (name.starts_with("x-ms-")) text += name + ":" + value + "\n";
    text += "/" + credentials->account() + path;
    for (const auto& [name, value] : query) text += "\n" + name + ":" + value;
    return text;
  }

  Result<HttpResponse> send(HttpRequest request, const std::string& key,
                            const AzQuery& query = {}) {
    request.name = url_of(key);
    const std::string& endpoint = credentials->endpoint();
    const size_t slash = endpoint.find('/', endpoint.find("://") + 3);
    const std::string path = (slash == std::string::npos ? "" : endpoint.substr(slash)) + "/" +
                             url_encoded(container) +
                             (key.empty() ? "" : "/" + url_encoded(key, "/"));
    request.url = endpoint.substr(0, slash) + path;
    std::string tail;
    for (const auto& [name, value] : query)
      tail += (tail.empty() ? "?" : "&") + name + "=" + url_encoded(value);
    if (!credentials->sas().empty() && !credentials->signs())
      tail += (tail.empty() ? "?" : "&") + credentials->sas();
    request.url += tail;
    request.headers["x-ms-version"] = "2021-08-06";
    std::string authorization;
    for (bool again = false;; again = true) {
      const double signed_s = clock.wall_seconds();
      request.headers["x-ms-date"] = http_date(signed_s);
      authorization = HONE_TRY(credentials->authorization(text_to_sign(request, path, query),
                                                          again ? authorization : ""));
      HttpRequest signed_one = request;
      if (!authorization.empty()) signed_one.headers["authorization"] = authorization;
      HttpResponse r = HONE_TRY(connections.send(signed_one));
      if (again || authorization.empty()) return r;
      if (!(r.status == 403 && clock.corrected_by(r, signed_s)) &&
          (r.status != 401 || credentials->signs()))
        return r;
    }
  }

  Error refused(const HttpResponse& r, const std::string& key) const {
    std::string why = r.header("x-ms-error-code");
    if (why.empty()) why = xml_text(r.body, "Code");
    return refused_by_store(r, url_of(key), credentials->source(), why);
  }

  Result<std::optional<ObjectInfo>> stat(const std::string& key, HttpHeaders* headers = nullptr) {
    const HttpResponse r = HONE_TRY(send({.method = "HEAD"}, key));
    if (r.status == 404 && r.header("x-ms-error-code") != "ContainerNotFound")
      return std::optional<ObjectInfo>();
    if (r.status != 200) return refused(r, r.status == 404 ? "" : key);
    if (headers) *headers = r.headers;
    return std::optional(object_of(r, key, hex_of_base64(r.header("content-md5"))));
  }
};

// Blocks in any order, then the list of them.
class AzUpload : public Upload {
 public:
  AzUpload(Az& az, std::string key, Condition condition)
      : az_(az), key_(std::move(key)), condition_(std::move(condition)), mark_(random_name()) {}

  Status part(int64_t number, int64_t, std::span<const std::byte> bytes, bool) override {
    const std::string id = encode_base64(fmt::format("{}-{:06d}", mark_, number));
    const HttpResponse r =
        HONE_TRY(az_.send({.method = "PUT",
                           .headers = {{"content-type", "application/octet-stream"},
                                       {"content-md5", md5_base64(bytes)}},
                           .body = bytes},
                          key_, {{"comp", "block"}, {"blockid", id}}));
    if (r.status != 201) return az_.refused(r, key_);
    std::lock_guard lock(mutex_);
    blocks_[number] = id;
    return Ok{};
  }

  Result<ObjectInfo> finish(int64_t bytes, uint32_t) override {
    std::string body = "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>";
    for (const auto& [number, id] : blocks_) body += "<Latest>" + id + "</Latest>";
    body += "</BlockList>";
    HttpHeaders headers = condition_headers(condition_);
    headers["content-type"] = "application/xml";
    headers[kAzUploadMark] = mark_;
    const HttpResponse r = HONE_TRY(
        az_.send({.method = "PUT", .headers = headers, .body = std::as_bytes(std::span(body))},
                 key_, {{"comp", "blocklist"}}));
    // An earlier try whose answer was lost may have done it: then the blob carries this mark.
    HttpHeaders now_headers;
    const bool unclear = r.status == 409 || r.status == 412 || r.status == 400;
    if (r.status != 201 && !unclear) return az_.refused(r, key_);
    std::optional<ObjectInfo> now = HONE_TRY(az_.stat(key_, &now_headers));
    if (unclear && (!now || now_headers[kAzUploadMark] != mark_)) return az_.refused(r, key_);
    if (!now || now->bytes != bytes)
      return damaged_upload(az_.url_of(key_), now ? now->bytes : 0, bytes);
    return std::move(*now);
  }

 private:
  Az& az_;
  std::string key_;
  Condition condition_;
  std::string mark_;
  std::mutex mutex_;
  std::map<int64_t, std::string> blocks_;
};

class AzBucket : public Bucket {
 public:
  AzBucket(std::string container, const HttpClient::Options& http,
           std::unique_ptr<AzureCredentials> credentials)
      : az_{std::move(container), Connections(http), std::move(credentials)} {}

  Result<std::optional<ObjectInfo>> stat(const std::string& key) override { return az_.stat(key); }

  Status read(const ObjectInfo& o, int64_t offset, std::span<std::byte> out) override {
    const int64_t last = offset + static_cast<int64_t>(out.size()) - 1;
    HttpHeaders headers = {{"x-ms-range", fmt::format("bytes={}-{}", offset, last)}};
    if (!o.version.empty()) headers["if-match"] = o.version;
    const HttpResponse r = HONE_TRY(
        az_.send({.headers = headers, .into = out, .heeds_stop = is_long(out.size())}, o.key));
    if (r.status == 412 || r.status == 404) return changed_while_read(az_.url_of(o.key));
    if (r.status != 200 && r.status != 206) return az_.refused(r, o.key);
    return all_there(r, offset, out.size(), az_.url_of(o.key));
  }

  Result<ObjectPage> list(const std::string& prefix, bool folders, const std::string& page,
                          int most) override {
    AzQuery query = {
        {"restype", "container"}, {"comp", "list"}, {"maxresults", std::to_string(most)}};
    if (!prefix.empty()) query["prefix"] = prefix;
    if (folders) query["delimiter"] = "/";
    if (!page.empty()) query["marker"] = page;
    const HttpResponse r = HONE_TRY(az_.send({.is_whole = is_whole_xml}, "", query));
    if (r.status != 200) return az_.refused(r, "");
    return HONE_TRY(az_listing(r.body, az_.url_of("")));
  }

  Result<ObjectInfo> put(const std::string& key, std::span<const std::byte> bytes,
                         const Condition& condition) override {
    HttpHeaders headers = condition_headers(condition);
    headers["content-type"] = "application/octet-stream";
    headers["x-ms-blob-type"] = "BlockBlob";
    headers["content-md5"] = md5_base64(bytes);
    const HttpResponse r =
        HONE_TRY(az_.send({.method = "PUT", .headers = headers, .body = bytes}, key));
    if (r.status == 201)
      return ObjectInfo{
          .key = key, .bytes = static_cast<int64_t>(bytes.size()), .version = r.header("etag")};
    if (r.status == 412 || r.status == 409) {
      HttpHeaders now_headers;
      std::optional<ObjectInfo> now = HONE_TRY(az_.stat(key, &now_headers));
      if (now && now_headers["content-md5"] == headers["content-md5"]) return std::move(*now);
    }
    return az_.refused(r, key);
  }

  Result<std::unique_ptr<Upload>> upload(const std::string& key,
                                         const Condition& condition) override {
    return std::unique_ptr<Upload>(new AzUpload(az_, key, condition));
  }

  Status remove(const std::string& key, const std::string& version) override {
    std::string etag = version;
    if (etag.empty()) {
      const std::optional<ObjectInfo> now = HONE_TRY(stat(key));
      if (!now) return az_.refused(no_answer(404), key);
      etag = now->version;
    }
    const HttpResponse r =
        HONE_TRY(az_.send({.method = "DELETE", .headers = {{"if-match", etag}}}, key));
    // A delete whose answer was lost was done.
    if (r.status == 202 || r.status == 200 || r.status == 404) return Ok{};
    if (r.status == 412 && !HONE_TRY(stat(key))) return Ok{};
    return az_.refused(r, key);
  }

  Status copy(const std::string& from, const std::string& to) override {
    const std::string source = fmt::format(
        "{}/{}/{}{}{}", az_.credentials->endpoint(), url_encoded(az_.container),
        url_encoded(from, "/"), az_.credentials->sas().empty() ? "" : "?", az_.credentials->sas());
    HttpResponse r = HONE_TRY(az_.send(
        {.method = "PUT",
         .headers = {{"content-type", "application/octet-stream"}, {"x-ms-copy-source", source}}},
        to));
    if (r.status != 202 && r.status != 201) return az_.refused(r, from);
    // Inside one account it is done at once; else the server continues.
    while (r.header("x-ms-copy-status") == "pending") {
      system_clock().sleep(0.5);
      r = HONE_TRY(az_.send({.method = "HEAD"}, to));
      if (r.status != 200) return az_.refused(r, to);
    }
    return Ok{};
  }

  Status make(const std::string&) override {
    const HttpResponse r =
        HONE_TRY(az_.send({.method = "PUT",
                           .headers = {{"content-type", "application/octet-stream"}},
                           .idempotent = false},
                          "", {{"restype", "container"}}));
    return r.status == 201 ? Status(Ok{}) : az_.refused(r, "");
  }

  // 50,000 blocks at most: 390 GiB in blocks of 8 MiB, then larger ones.
  int64_t part_bytes(int64_t number) const override {
    return int64_t{8} << (20 + std::min<int64_t>(number / 6000, 7));
  }

 private:
  Az az_;
};

Result<std::unique_ptr<Bucket>> open_az(const std::string& scheme, const std::string& authority,
                                        const HttpClient::Options& http) {
  std::string container = authority, account;
  if (scheme != "az") {
    const size_t at = authority.find('@');
    if (at == std::string::npos)
      return Error(err::kStoreUnsupported,
                   fmt::format("'{}://{}' names no account", scheme, authority))
          .todo("write abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/...");
    container = authority.substr(0, at);
    account = authority.substr(at + 1);
    account = account.substr(0, account.find('.'));
  }
  auto credentials = HONE_TRY(AzureCredentials::find(account, http));
  return std::unique_ptr<Bucket>(new AzBucket(container, http, std::move(credentials)));
}

}  // namespace

ObjectScheme scheme_az() { return {.names = {"az", "abfs", "abfss"}, .open = open_az}; }

}  // namespace hone
