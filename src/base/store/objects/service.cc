#include "base/store/objects/service.h"

#include <charconv>
#include <random>

namespace hone {

Result<HttpResponse> Connections::send(const HttpRequest& request) {
  std::unique_ptr<HttpClient> http;
  {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      http = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (!http) http = std::make_unique<HttpClient>(options_);
  Result<HttpResponse> r = http->send(request);
  std::lock_guard lock(mutex_);
  free_.push_back(std::move(http));
  return r;
}

namespace {

// The three stores' words for a bucket that is missing, not an object in it.
bool says_no_bucket(const std::string& why) {
  for (const char* words : {"bucket does not exist", "NoSuchBucket", "ContainerNotFound"})
    if (why.find(words) != std::string::npos) return true;
  return false;
}

Error no_bucket(const std::string& url) {
  const std::string bucket = url.substr(0, url.find('/', url.find("://") + 3));
  return Error(err::kStoreMissing, fmt::format("the bucket {} does not exist", bucket))
      .todo(fmt::format("create it with 'hone store mb {}', or check the name", bucket));
}

}  // namespace

Error refused_by_store(const HttpResponse& r, const std::string& name,
                       const std::string& credentials, std::string why) {
  const std::string said = fmt::format("{}: the server answered with status {}{}", name, r.status,
                                       why.empty() ? "" : ": " + why.substr(0, 300));
  switch (r.status) {
    case 404:
      if (says_no_bucket(why)) return no_bucket(name);
      return Error(err::kStoreMissing, fmt::format("{} does not exist", name))
          .at(fmt::format("status 404{}", why.empty() ? "" : ": " + why.substr(0, 300)))
          .todo("check the name; 'hone store ls' lists the names");
    case 401:
    case 403:
      return Error(err::kStoreDenied, said)
          .at(fmt::format("credentials: {}", credentials))
          .todo(credentials == "none"
                    ? "no credentials were found: log in as the cloud's own tool does, or set the "
                      "variables that docs/storage.md lists"
                    : "give this account the right to it, or use another account");
    case 409:
    case 412:
      return Error(err::kLostRace, fmt::format("{} was written by another program", name))
          .todo("see whether two runs use the same folder");
    case 416:
      return Error(err::kStoreShort, fmt::format("{} is shorter than it should be", name));
    default:
      return Error(err::kHttpStatus, said)
          .todo(r.status >= 500 || r.status == 429 || r.status == 408
                    ? "the server is busy or broken: run the same command again later"
                    : "check the address and the settings of the store");
  }
}

HttpHeaders condition_headers(const Condition& c) {
  if (c.absent) return {{"if-none-match", "*"}};
  if (!c.version.empty()) return {{"if-match", c.version}};
  return {};
}

ObjectInfo object_of(const HttpResponse& r, const std::string& key, std::string md5) {
  return {.key = key,
          .bytes = std::max<int64_t>(number_of(r.header("content-length")), 0),
          .version = r.header("etag"),
          .md5 = std::move(md5),
          .updated = r.header("last-modified")};
}

Status all_there(const HttpResponse& r, int64_t offset, size_t bytes, const std::string& name) {
  // "bytes 5-9/100"; rclone sends it with status 200.
  const std::string range = r.header("content-range");
  const size_t space = range.find(' ');
  const int64_t start = space == std::string::npos ? 0 : number_of(range.substr(space + 1));
  if (start != offset)
    return Error(err::kHttpStatus,
                 fmt::format("{}: the server sent bytes from {}, asked were those from {}", name,
                             start, offset));
  if (r.received == static_cast<int64_t>(bytes)) return Ok{};
  return Error(err::kStoreShort,
               fmt::format("{} ends at byte {}, {} more were expected", name, offset + r.received,
                           static_cast<int64_t>(bytes) - r.received));
}

Error changed_while_read(const std::string& name) {
  return Error(err::kFileChanged,
               fmt::format("{} was replaced or deleted since it was opened", name))
      .todo("run the same command again, and let nobody write to its files until it ends");
}

Error damaged_upload(const std::string& name, int64_t there, int64_t sent) {
  return Error(err::kChecksum,
               fmt::format("{} was damaged on its way: the server has {} bytes of {}", name, there,
                           sent))
      .todo("run the same command again");
}

HttpResponse no_answer(int status) {
  HttpResponse r;
  r.status = status;
  return r;
}

std::string random_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

int64_t number_of(const std::string& text) {
  int64_t n = -1;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

}  // namespace hone
