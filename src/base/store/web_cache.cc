#include "base/store/web_cache.h"

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/errors.h"
#include "base/store/hash.h"
#include "base/store/store.h"

namespace hone {
namespace {

// The last part of the address, its %-escapes and what a file name may not hold replaced.
std::string file_name(const std::string& url) {
  std::string path = url.substr(0, url.find_first_of("?#"));
  path = path.substr(path.find_last_of('/') + 1);
  std::string name;
  for (size_t i = 0; i < path.size(); ++i) {
    char c = path[i];
    if (c == '%' && i + 2 < path.size() && std::isxdigit(path[i + 1]) &&
        std::isxdigit(path[i + 2])) {
      c = static_cast<char>(std::stoi(path.substr(i + 1, 2), nullptr, 16));
      i += 2;
    }
    name += c == '/' || static_cast<unsigned char>(c) < ' ' ? '_' : c;
  }
  return name.empty() || name[0] == '.' || name.size() > 200 ? "file" : name;
}

}  // namespace

Result<std::string> cached_url(const std::string& url, const HubOptions& options) {
  const std::string folder =
      fmt::format("{}/.web/{}", hub_cache_folder(options), sha256_of_text(url).substr(0, 16));
  const std::string path = folder + "/" + file_name(url), etag_path = path + ".etag";
  const bool have = HONE_TRY(file_store().exists(path));
  if (hub_offline(options)) {
    if (have) return path;
    return Error(err::kHubOffline,
                 fmt::format("'{}' was never loaded, and this run is offline", url))
        .at(fmt::format("cache {}", folder))
        .todo("run once with network (HF_HUB_OFFLINE=0), or give the path of a file");
  }
  HttpClient http(options.http);
  HttpHeaders headers = {{"accept-encoding", "identity"}};
  if (const std::string token = hub_token(options);
      !token.empty() && url.starts_with(hub_endpoint(options) + "/"))
    headers["authorization"] = "Bearer " + token;
  if (have) {
    if (Result<std::string> etag = file_store().read(etag_path); etag.ok() && !etag->empty())
      headers["if-none-match"] = *etag;
    http.set_retries(0);
  }
  HONE_TRY(file_store().make_dirs(folder));
  std::unique_ptr<Writer> writer = HONE_TRY(file_store().create(path));
  int64_t end = 0;
  if (options.progress) log_info("{} {}", have ? "asking for changes of" : "loading", url);
  Result<HttpResponse> r =
      http.download(url, headers, 0, [&](int64_t at, std::string_view bytes) -> Status {
        if (at != end) {  // the server began again
          writer = HONE_TRY(file_store().create(path));
          end = at;
        }
        HONE_TRY(writer->write(bytes));
        end += static_cast<int64_t>(bytes.size());
        return Ok{};
      });
  if (have && ((!r.ok() && r.error().is(err::kNetwork)) || (r.ok() && r->status >= 500))) {
    log_warning("{} cannot be reached: what was loaded before is used", url);
    return path;
  }
  if (!r.ok()) return std::move(r.error());
  if (have && r->status == 304) return path;
  if (r->status == 404 || r->status == 410) {
    return Error(err::kStoreMissing,
                 fmt::format("{}: the server has no such file (status {})", url, r->status))
        .todo("check the URL");
  }
  if (r->status != 200 && r->status != 206) {
    return Error(err::kHttpStatus,
                 fmt::format("{}: the server answered with status {}", url, r->status))
        .todo(r->status == 401 || r->status == 403
                  ? "the URL asks for a login that hone does not have: fetch the file yourself "
                    "and give its path"
                  : "try again later, or fetch the file yourself");
  }
  HONE_TRY(writer->commit());
  HONE_TRY(file_store().write(etag_path, r->header("etag")));
  return path;
}

}  // namespace hone
