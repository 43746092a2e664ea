#include "base/store/http.h"

#include <curl/curl.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>

#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/errors.h"

namespace hone {

struct HttpClient::Transfer {
  std::string url;
  HttpHeaders headers;
  std::string method = "GET";
  const HttpRequest* request = nullptr;  // of send()
  bool heeds_stop = true;
  const Sink* sink = nullptr;  // a download
  size_t most_body = 0;        // of what is none
  int64_t moved = 0;           // bytes of this try
  int64_t at = 0;              // next byte the sink expects
  HttpHeaders first;           // of the answer that byte 0, or the first byte here, came with
  bool progressed = false;

  CURL* curl = nullptr;
  HttpResponse response;
  std::optional<Error> sink_error;
  bool body_checked = false, to_sink = false, too_long = false, other_file = false;

  void reset() {
    response = {};
    body_checked = to_sink = progressed = too_long = other_file = false;
    moved = 0;
  }
  bool head() const { return method == "HEAD"; }
  std::string name() const {
    if (request && !request->name.empty()) return request->name;
    return request ? url.substr(0, url.find('?')) : url;
  }
  bool success_status() const { return response.status == 200 || response.status == 206; }
};

namespace {
constexpr size_t kMostErrorBody = 64 << 10;
constexpr double kAnswerSeconds = 300;
constexpr long kTransferBuffer = 512 << 10;

bool worth_retrying(int status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
         status == 504;
}
bool worth_retrying(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return true;
    default:
      return false;
  }
}

size_t on_header(char* data, size_t size, size_t count, void* user) {
  auto& t = *static_cast<HttpResponse*>(user);
  std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) {  // of each response of a chain of redirects
    t.headers.clear();
    size_t space = line.find(' ');
    if (space != std::string_view::npos) {
      std::string_view digits = line.substr(space + 1, 3);
      std::from_chars(digits.data(), digits.data() + digits.size(), t.status);
    }
  } else if (size_t colon = line.find(':'); colon != std::string_view::npos) {
    t.headers[to_lower(trim(line.substr(0, colon)))] = std::string(trim(line.substr(colon + 1)));
  }
  return size * count;
}

int on_progress(void* heeds_stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return *static_cast<const bool*>(heeds_stop) && stop_requested();
}

// No connection was made, so nothing was sent.
bool surely_not_done(CURLcode code) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
         code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR;
}

// From 1 to 1.5, so that clients that failed together do not come again together.
double jitter() {
  thread_local std::minstd_rand random(std::random_device{}());
  return std::uniform_real_distribution<double>(1.0, 1.5)(random);
}

// The first byte of a 206, from "bytes 100-199/200".
std::optional<int64_t> range_start(const std::string& content_range) {
  size_t digit = content_range.find_first_of("0123456789");
  int64_t n = 0;
  if (digit == std::string::npos) return std::nullopt;
  const char* end = content_range.data() + content_range.size();
  if (std::from_chars(content_range.data() + digit, end, n).ec != std::errc()) return std::nullopt;
  return n;
}

std::string value_in(const HttpHeaders& headers, const char* name) {
  const auto it = headers.find(name);
  return it == headers.end() ? "" : it->second;
}

// The value of If-Range for a download that began with this answer: if the file has changed, the
// server sends it from the start. A weak ETag does not promise equal bytes (RFC 9110, 13.1.5).
std::string if_range(const HttpHeaders& first) {
  const std::string etag = value_in(first, "etag");
  return etag.starts_with('"') ? etag : value_in(first, "last-modified");
}

// Servers that do not know If-Range say by the same headers that the file is another one.
bool is_other_file(const HttpHeaders& first, const HttpHeaders& now) {
  for (const char* name : {"etag", "last-modified"}) {
    std::string a = value_in(first, name), b = value_in(now, name);
    if (a.empty() || b.empty()) continue;
    for (std::string* etag : {&a, &b})
      if (etag->starts_with("W/")) etag->erase(0, 2);
    return a != b;
  }
  return false;
}

// Seconds that Retry-After asks for; `otherwise` when it is a date or nothing that can be waited.
double retry_after(const std::string& header, double otherwise) {
  int64_t seconds = 0;
  const char* end = header.data() + header.size();
  const auto [at, failed] = std::from_chars(header.data(), end, seconds);
  if (failed != std::errc() || at != end) return otherwise;
  return std::clamp(static_cast<double>(seconds), otherwise, std::max(otherwise, 60.0));
}

const char* first_set(std::initializer_list<const char*> names) {
  for (const char* n : names) {
    const char* v = std::getenv(n);
    if (v != nullptr && *v != 0) return v;
  }
  return nullptr;
}
}  // namespace

int64_t environment_number(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr) return otherwise;
  int64_t n = 0;
  const char* end = text + std::strlen(text);
  const auto [at, failed] = std::from_chars(text, end, n);
  return failed == std::errc() && at == end && n > 0 ? n : otherwise;
}

HttpClient::HttpClient() : HttpClient(Options{}) {}
HttpClient::HttpClient(Options options) : options_(options) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  curl_ = curl_easy_init();
  HONE_BUG_IF(curl_ == nullptr, "libcurl gives no handle");
}
HttpClient::~HttpClient() { curl_easy_cleanup(static_cast<CURL*>(curl_)); }

Result<HttpResponse> HttpClient::run(Transfer& t) {
  if (!t.url.starts_with("http://") && !t.url.starts_with("https://")) {
    return Error(err::kStoreUnsupported,
                 fmt::format("'{}' is not an http:// or https:// URL", t.url));
  }
  auto on_body = +[](char* data, size_t size, size_t count, void* user) -> size_t {
    auto& t = *static_cast<Transfer*>(user);
    std::string_view bytes(data, size * count);
    if (!t.body_checked) {
      t.body_checked = true;
      t.to_sink = t.sink != nullptr && t.success_status();
      if (t.to_sink) {
        // A server may ignore the range, or serve another one than asked.
        int64_t start = 0;
        if (t.response.status == 206)
          start = range_start(t.response.header("content-range")).value_or(t.at);
        if (start != t.at && start != 0) {
          t.sink_error.emplace(
              err::kHttpStatus,
              fmt::format("{} sent bytes from {}, asked were those from {}", t.url, start, t.at));
          return 0;
        }
        t.other_file = start > 0 && is_other_file(t.first, t.response.headers);
        if (t.other_file) return 0;
        if (start == 0 || t.first.empty()) t.first = t.response.headers;
        t.at = start;
      }
    }
    if (t.request && !t.request->into.empty() && t.success_status()) {
      const auto at = static_cast<size_t>(t.response.received);
      t.too_long = bytes.size() > t.request->into.size() - at;
      if (t.too_long) return 0;
      std::memcpy(t.request->into.data() + at, bytes.data(), bytes.size());
      t.response.received += static_cast<int64_t>(bytes.size());
      return bytes.size();
    }
    if (!t.to_sink) {
      if (t.response.body.size() + bytes.size() > (t.sink ? kMostErrorBody : t.most_body)) {
        if (t.sink) return bytes.size();
        t.sink_error.emplace(err::kHttpStatus,
                             fmt::format("the answer of {} is longer than {}", t.url,
                                         format_bytes(static_cast<int64_t>(t.most_body))));
        t.sink_error->todo(
            "check the URL; no file list or file that hone asks for this way is "
            "as long");
        return 0;
      }
      t.response.body += bytes;
      return bytes.size();
    }
    Status s = (*t.sink)(t.at, bytes);
    if (!s.ok()) {
      t.sink_error = std::move(s.error());
      return 0;
    }
    t.at += static_cast<int64_t>(bytes.size());
    t.moved += static_cast<int64_t>(bytes.size());
    t.progressed = true;
    return bytes.size();
  };

  CURL* curl = static_cast<CURL*>(curl_);
  t.most_body = static_cast<size_t>(options_.most_body_bytes);
  const auto whole = static_cast<double>(options_.deadline_seconds);
  const double deadline = t.sink ? whole : std::min(whole, kAnswerSeconds);
  const double end = options_.clock->seconds() + deadline;
  const auto seconds_left = [&] { return end - options_.clock->seconds(); };
  double wait = options_.first_wait_seconds;
  for (int tries_left = options_.retries;; --tries_left) {
    t.reset();
    curl_easy_reset(curl);
    char reason[CURL_ERROR_SIZE] = "";
    curl_slist* list = nullptr;
    for (const auto& [name, value] : t.headers)
      list = curl_slist_append(list, (name + ": " + value).c_str());
    if (t.request && !t.request->body.empty()) list = curl_slist_append(list, "Expect:");
    if (t.sink && t.at > 0) {
      list = curl_slist_append(list, fmt::format("range: bytes={}-", t.at).c_str());
      if (const std::string same = if_range(t.first); !same.empty())
        list = curl_slist_append(list, ("if-range: " + same).c_str());
    }
    curl_easy_setopt(curl, CURLOPT_URL, t.url.c_str());
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "hone/0.1");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
    curl_easy_setopt(curl, CURLOPT_NOBODY, t.head() ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, t.head() || t.request ? 0L : 1L);
    if (t.request && t.method != "GET" && !t.head()) {
      if (!t.request->body.empty() || t.method == "PUT" || t.method == "POST") {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                         static_cast<curl_off_t>(t.request->body.size()));
        curl_easy_setopt(
            curl, CURLOPT_POSTFIELDS,
            t.request->body.empty() ? "" : static_cast<const void*>(t.request->body.data()));
        curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, kTransferBuffer);
      }
      curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, t.method.c_str());
    }
    curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, kTransferBuffer);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                     static_cast<long>(options_.connect_timeout_seconds * 1000));
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                     std::max(1L, static_cast<long>(std::max(seconds_left(), 0.0) * 1000)));
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(options_.least_rate));
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                     std::max(1L, static_cast<long>(options_.stall_timeout_seconds)));
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &t.response);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &t);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &t.heeds_stop);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
    if (const char* ca = first_set({"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"})) {
      curl_easy_setopt(curl, CURLOPT_CAINFO, ca);
    }
    CURLcode code = curl_easy_perform(curl);
    char* final_url = nullptr;
    curl_easy_getinfo(curl, CURLINFO_EFFECTIVE_URL, &final_url);
    t.response.url = final_url ? final_url : t.url;
    curl_slist_free_all(list);

    if (t.sink_error) return std::move(*t.sink_error);
    const bool stop = t.heeds_stop && stop_requested();
    if (code == CURLE_ABORTED_BY_CALLBACK || stop) {
      return Error(err::kInterrupted, fmt::format("stopped while reading {}", t.name()))
          .todo("run the same command again: it continues where it stopped");
    }
    if (t.other_file) {
      log_info("{} was changed on its server: loading it from the start", t.name());
      t.at = 0;
      continue;
    }
    bool broken = code != CURLE_OK;
    if (!broken && t.response.status == 416 && t.sink && t.at > 0) {
      t.at = 0;  // what we have is longer than the file: it is another one
      continue;
    }
    if (!broken && !worth_retrying(t.response.status)) return std::move(t.response);
    // A transfer below the least rate makes no progress.
    if (t.progressed &&
        (code != CURLE_OPERATION_TIMEDOUT ||
         t.moved > options_.least_rate * static_cast<int64_t>(options_.stall_timeout_seconds))) {
      tries_left = options_.retries;
      wait = options_.first_wait_seconds;
    }
    std::string why = t.too_long ? "the answer is longer than requested"
                      : broken   ? (*reason ? reason : curl_easy_strerror(code))
                                 : fmt::format("status {}", t.response.status);
    const bool late = seconds_left() <= 0;
    const bool may_repeat = !t.request || t.request->idempotent || surely_not_done(code) ||
                            (!broken && (t.response.status == 429 || t.response.status == 503));
    if (tries_left <= 0 || late || !may_repeat ||
        (broken && !worth_retrying(code) && !t.too_long)) {
      if (!broken) return std::move(t.response);
      const std::string what = fmt::format(
          "cannot {} {}", t.method == "GET" || t.head() ? "read" : "write to", t.name());
      if (late)
        return Error(err::kNetwork, fmt::format("{}: it is not done after {} s", what, deadline))
            .todo(t.sink ? "the same command continues where it stopped; set "
                           "HONE_DOWNLOAD_DEADLINE for more seconds"
                         : "try again later, or use the cache with HF_HUB_OFFLINE=1");
      if (code == CURLE_OPERATION_TIMEDOUT)
        return Error(err::kNetwork, fmt::format("{}: {}", what, why))
            .todo(fmt::format("try again later; on a slow network, HONE_DOWNLOAD_LEAST_RATE takes "
                              "fewer than {} bytes a second",
                              options_.least_rate));
      return Error(err::kNetwork, fmt::format("{}: {}", what, why))
          .todo(
              "check the network and the proxy settings (https_proxy, no_proxy); with a filled "
              "cache, HF_HUB_OFFLINE=1 works without network");
    }
    const double pause = std::min(retry_after(t.response.header("retry-after"), wait) * jitter(),
                                  std::max(seconds_left(), 0.0));
    log_info("{}: {}; trying again in {:.1f} s", t.name(), why, pause);
    // In small steps, so that a request to stop is heard.
    for (double left = pause; left > 0 && !(t.heeds_stop && stop_requested()); left -= 0.25) {
      options_.clock->sleep(std::min(left, 0.25));
    }
    wait = std::min(wait * 2, 30.0);
  }
}

Result<HttpResponse> HttpClient::get(const std::string& url, const HttpHeaders& headers) {
  Transfer t;
  t.url = url;
  t.headers = headers;
  return run(t);
}
Result<HttpResponse> HttpClient::head(const std::string& url, const HttpHeaders& headers) {
  Transfer t;
  t.url = url;
  t.headers = headers;
  t.method = "HEAD";
  return run(t);
}
Result<HttpResponse> HttpClient::send(const HttpRequest& request) {
  Transfer t;
  t.url = request.url;
  t.headers = request.headers;
  t.method = request.method;
  t.request = &request;
  t.heeds_stop = request.heeds_stop;
  return run(t);
}
Result<HttpResponse> HttpClient::download(const std::string& url, const HttpHeaders& headers,
                                          int64_t offset, const Sink& sink) {
  Transfer t;
  t.url = url;
  t.headers = headers;
  t.sink = &sink;
  t.at = offset;
  return run(t);
}

std::string url_encoded(std::string_view text, std::string_view keep) {
  std::string out;
  for (char c : text) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 std::string_view("-_.~").find(c) != std::string_view::npos ||
                 keep.find(c) != std::string_view::npos;
    if (plain)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace hone
