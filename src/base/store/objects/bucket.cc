// Finds the bucket that a URL names.
#include "base/store/objects/bucket.h"

#include <mutex>

#include "base/store/errors.h"

namespace hone {
namespace {

const std::vector<ObjectScheme>& schemes() {
  static const std::vector<ObjectScheme> all = all_scheme();
  return all;
}

std::string without_double_slashes(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != '/' || (!out.empty() && out.back() != '/')) out += c;
  while (out.ends_with('/')) out.pop_back();
  return out;
}

}  // namespace

bool is_safe_key(std::string_view key) {
  if (key.empty() || key[0] == '/' || key.find('\0') != std::string_view::npos) return false;
  for (size_t at = 0; at <= key.size();) {
    const size_t end = std::min(key.find('/', at), key.size());
    const std::string_view part = key.substr(at, end - at);
    if (part == "." || part == "..") return false;
    at = end + 1;
  }
  return true;
}

Result<std::optional<ObjectUrl>> parse_object_url(const std::string& url) {
  const size_t colon = url.find("://");
  if (colon == std::string::npos) return std::optional<ObjectUrl>();
  const std::string scheme = url.substr(0, colon);
  for (const ObjectScheme& s : schemes()) {
    if (std::find(s.names.begin(), s.names.end(), scheme) == s.names.end()) continue;
    const size_t end = url.find('/', colon + 3);
    ObjectUrl found{url.substr(0, end), "", &s};
    if (end != std::string::npos) found.key = without_double_slashes(url.substr(end + 1));
    while (found.bucket.ends_with('/') && found.bucket.size() > colon + 3) found.bucket.pop_back();
    if (found.bucket.size() == colon + 3)
      return Error(err::kStoreUnsupported, fmt::format("'{}' names no bucket", url))
          .todo(fmt::format("write {}://BUCKET/...", scheme));
    if (!found.key.empty() && !is_safe_key(found.key))
      return Error(err::kStoreUnsupported,
                   fmt::format("'{}' is not the name of an object: it has a part '.' or '..'", url))
          .todo("write the whole name");
    return std::optional(std::move(found));
  }
  return std::optional<ObjectUrl>();
}

Result<Bucket*> open_bucket(const ObjectUrl& url) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Bucket>> open;
  std::lock_guard lock(mutex);
  std::unique_ptr<Bucket>& bucket = open[url.bucket];
  if (!bucket) {
    const size_t colon = url.bucket.find("://");
    bucket =
        HONE_TRY(url.scheme->open(url.bucket.substr(0, colon), url.bucket.substr(colon + 3), {}));
  }
  return bucket.get();
}

}  // namespace hone
