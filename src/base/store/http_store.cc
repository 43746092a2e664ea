#include "base/store/http_store.h"

#include <charconv>
#include <cstring>
#include <mutex>

#include "base/store/errors.h"
#include "base/store/http.h"

namespace hone {
namespace {

Error refused(const std::string& url, int status) {
  if (status == 404 || status == 410) {
    return Error(err::kStoreMissing,
                 fmt::format("{}: the server has no such file (status {})", url, status))
        .todo("check the URL");
  }
  return Error(err::kHttpStatus, fmt::format("{}: the server answered with status {}", url, status))
      .todo(status == 401 || status == 403 ? "the URL asks for a login that hone does not have: "
                                             "fetch the file yourself and give its path"
                                           : "try again later, or fetch the file yourself");
}

Error read_only(const std::string& url) {
  return Error(err::kStoreUnsupported, fmt::format("{}: the web can be read, not written", url))
      .todo("write to a local folder and copy from there");
}

// One client for all readers: requests take turns.
class Web {
 public:
  Result<HttpResponse> head(const std::string& url) {
    std::lock_guard lock(mutex_);
    std::string at = url;
    for (int redirects = 0;; ++redirects) {
      HttpResponse r = HONE_TRY(client_.head(at));
      std::string location = r.header("location");
      bool redirect = r.status >= 300 && r.status < 400 && !location.empty();
      if (!redirect || redirects == 10) return r;
      if (location.starts_with("/")) {
        size_t host_end = at.find('/', at.find("://") + 3);
        location = at.substr(0, host_end) + location;
      }
      at = location;
    }
  }
  Status read(const std::string& url, int64_t offset, std::span<std::byte> out) {
    std::lock_guard lock(mutex_);
    HttpHeaders headers;
    size_t filled = 0;
    auto last = offset + static_cast<int64_t>(out.size()) - 1;
    // A plain range request; a cut one is asked for again from where it stopped.
    for (int64_t before = -1; filled < out.size() && before != static_cast<int64_t>(filled);) {
      before = static_cast<int64_t>(filled);
      headers["range"] = fmt::format("bytes={}-{}", offset + before, last);
      HttpResponse r = HONE_TRY(client_.get(url, headers));
      if (r.status != 200 && r.status != 206) return refused(url, r.status);
      std::string_view body = r.body;
      if (r.status == 200)
        body.remove_prefix(std::min(body.size(), static_cast<size_t>(offset) + filled));
      size_t n = std::min(body.size(), out.size() - filled);
      std::memcpy(out.data() + filled, body.data(), n);
      filled += n;
    }
    if (filled == out.size()) return Ok{};
    return Error(err::kStoreShort,
                 fmt::format("{} ends at byte {}", url, offset + static_cast<int64_t>(filled)));
  }
  Result<std::string> all(const std::string& url) {
    std::lock_guard lock(mutex_);
    HttpResponse r = HONE_TRY(client_.get(url));
    if (r.status != 200) return refused(url, r.status);
    return std::move(r.body);
  }

 private:
  std::mutex mutex_;
  HttpClient client_;
};

class HttpReader : public Reader {
 public:
  HttpReader(Web& web, std::string url, int64_t bytes)
      : web_(web), url_(std::move(url)), bytes_(bytes) {}
  int64_t bytes() const override { return bytes_; }
  Status read(int64_t offset, std::span<std::byte> out) override {
    if (out.empty()) return Ok{};
    return web_.read(url_, offset, out);
  }

 private:
  Web& web_;
  std::string url_;
  int64_t bytes_;
};

// A file of unknown length is downloaded at once.
class FetchedReader : public Reader {
 public:
  FetchedReader(std::string url, std::string data) : url_(std::move(url)), data_(std::move(data)) {}
  int64_t bytes() const override { return static_cast<int64_t>(data_.size()); }
  Status read(int64_t offset, std::span<std::byte> out) override {
    if (offset < 0 || static_cast<size_t>(offset) + out.size() > data_.size()) {
      return Error(err::kStoreShort, fmt::format("{} ends at byte {}", url_, data_.size()));
    }
    std::memcpy(out.data(), data_.data() + offset, out.size());
    return Ok{};
  }

 private:
  std::string url_, data_;
};

class HttpStore : public Store {
 public:
  Result<Info> info(const std::string& url) override {
    HttpResponse r = HONE_TRY(web_.head(url));
    if (r.status == 404 || r.status == 410) return Info{};
    if (r.status != 200) return refused(url, r.status);
    return Info{true, false, length(r)};
  }
  Result<std::unique_ptr<Reader>> open(const std::string& url) override {
    HttpResponse r = HONE_TRY(web_.head(url));
    if (r.status == 200 && length(r) >= 0 && r.header("accept-ranges") == "bytes") {
      return std::unique_ptr<Reader>(new HttpReader(web_, url, length(r)));
    }
    std::string data = HONE_TRY(web_.all(url));
    return std::unique_ptr<Reader>(new FetchedReader(url, std::move(data)));
  }
  Result<std::vector<Entry>> list(const std::string& url) override {
    return Error(err::kStoreUnsupported, fmt::format("{}: the web has no folders to list", url))
        .todo("name each file");
  }
  Result<std::unique_ptr<Writer>> create(const std::string& url) override { return read_only(url); }
  Result<std::unique_ptr<Writer>> append(const std::string& url) override { return read_only(url); }
  Status rename(const std::string& url, const std::string&) override { return read_only(url); }
  Status remove(const std::string& url) override { return read_only(url); }
  Status remove_all(const std::string& url) override { return read_only(url); }
  Status make_dirs(const std::string& url) override { return read_only(url); }
  Status remove_unfinished(const std::string& url) override { return read_only(url); }

 private:
  static int64_t length(const HttpResponse& r) {
    std::string text = r.header("content-length");
    int64_t n = -1;
    std::from_chars(text.data(), text.data() + text.size(), n);
    return n;
  }
  Web web_;
};

}  // namespace

Store& http_store() {
  static HttpStore store;
  return store;
}

}  // namespace hone
