#include "base/store/http.h"

#include <curl/curl.h>

#include <charconv>
#include <mutex>
#include <random>

#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/errors.h"
#include "base/store/http_transfer.h"

namespace hone {

namespace {
constexpr double kAnswerSeconds = 300;

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

// Seconds that Retry-After asks for; `otherwise` when it is a date or nothing that can be waited.
double retry_after(const std::string& header, double otherwise) {
  int64_t seconds = 0;
  const char* end = header.data() + header.size();
  const auto [at, failed] = std::from_chars(header.data(), end, seconds);
  if (failed != std::errc() || at != end) return otherwise;
  return std::clamp(static_cast<double>(seconds), otherwise, std::max(otherwise, 60.0));
}

}  // namespace

HttpClient::HttpClient() : HttpClient(Options{}) {}
HttpClient::HttpClient(Options options) : options_(options) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  curl_ = curl_easy_init();
  HONE_BUG_IF(curl_ == nullptr, "libcurl gives no handle");
}
HttpClient::~HttpClient() { curl_easy_cleanup(static_cast<CURL*>(curl_)); }

namespace {

// The connection broke, or the answer asks for another try.
struct FailedTry {
  CURLcode code;
  std::string why;
  bool broken() const { return code != CURLE_OK; }
};

// Whether another try could end better, and does no harm.
bool may_repeat(const HttpTransfer& t, const FailedTry& failed) {
  if (failed.broken() && !worth_retrying(failed.code) && !t.too_long) return false;
  return !t.request || t.request->idempotent || surely_not_done(failed.code) ||
         (!failed.broken() && (t.response.status == 429 || t.response.status == 503));
}

// The Error of the last try. late: no time is left of `deadline` seconds.
Error cannot_finish(const HttpTransfer& t, const FailedTry& failed, bool late, double deadline,
                    int64_t least_rate) {
  const std::string what =
      fmt::format("cannot {} {}", t.method == "GET" || t.head() ? "read" : "write to", t.name());
  if (late)
    return Error(err::kNetwork, fmt::format("{}: it is not done after {} s", what, deadline))
        .todo(t.sink ? "the same command continues where it stopped; set "
                       "HONE_DOWNLOAD_DEADLINE for more seconds"
                     : "try again later, or use the cache with HF_HUB_OFFLINE=1");
  if (failed.code == CURLE_OPERATION_TIMEDOUT)
    return Error(err::kNetwork, fmt::format("{}: {}", what, failed.why))
        .todo(fmt::format("try again later; on a slow network, HONE_DOWNLOAD_LEAST_RATE takes "
                          "fewer than {} bytes a second",
                          least_rate));
  return Error(err::kNetwork, fmt::format("{}: {}", what, failed.why))
      .todo(
          "check the network and the proxy settings (https_proxy, no_proxy); with a filled "
          "cache, HF_HUB_OFFLINE=1 works without network");
}

}  // namespace

// A transfer below the least rate makes no progress.
bool HttpClient::made_progress(const HttpTransfer& t, bool timed_out) const {
  const int64_t least = options_.least_rate * static_cast<int64_t>(options_.stall_timeout_seconds);
  return t.progressed && (!timed_out || t.moved > least);
}

// In small steps, so that a request to stop is heard.
void HttpClient::pause(double seconds, bool heeds_stop) {
  for (double left = seconds; left > 0 && !(heeds_stop && stop_requested()); left -= 0.25)
    options_.clock->sleep(std::min(left, 0.25));
}

Result<HttpResponse> HttpClient::run(HttpTransfer& t) {
  if (!t.url.starts_with("http://") && !t.url.starts_with("https://"))
    return Error(err::kStoreUnsupported,
                 fmt::format("'{}' is not an http:// or https:// URL", t.url));
  t.most_body = static_cast<size_t>(options_.most_body_bytes);
  const auto whole = static_cast<double>(options_.deadline_seconds);
  const double deadline = t.sink ? whole : std::min(whole, kAnswerSeconds);
  const double end = options_.clock->seconds() + deadline;
  const auto seconds_left = [&] { return end - options_.clock->seconds(); };
  double wait = options_.first_wait_seconds;
  for (int tries_left = options_.retries;; --tries_left) {
    char reason[CURL_ERROR_SIZE];
    CURLcode code = t.perform(static_cast<CURL*>(curl_), options_, seconds_left(), reason);
    if (code == CURLE_OK && t.is_cut()) code = CURLE_PARTIAL_FILE;
    if (t.sink_error) return std::move(*t.sink_error);
    if (code == CURLE_ABORTED_BY_CALLBACK || (t.heeds_stop && stop_requested()))
      return Error(err::kInterrupted, fmt::format("stopped while reading {}", t.name()))
          .todo("run the same command again: it continues where it stopped");
    if ((code == CURLE_OK || t.other_file) && t.starts_again()) continue;
    if (code == CURLE_OK && !worth_retrying(t.response.status)) return std::move(t.response);
    if (made_progress(t, code == CURLE_OPERATION_TIMEDOUT)) {
      tries_left = options_.retries;
      wait = options_.first_wait_seconds;
    }
    const FailedTry failed{code, t.too_long         ? "the answer is longer than requested"
                                 : code != CURLE_OK ? (*reason ? reason : curl_easy_strerror(code))
                                                    : fmt::format("status {}", t.response.status)};
    const bool late = seconds_left() <= 0;
    if (tries_left <= 0 || late || !may_repeat(t, failed)) {
      if (!failed.broken()) return std::move(t.response);
      return cannot_finish(t, failed, late, deadline, options_.least_rate);
    }
    const double seconds = std::min(retry_after(t.response.header("retry-after"), wait) * jitter(),
                                    std::max(seconds_left(), 0.0));
    log_info("{:<11} {}: {}; trying again in {:.1f} s", "waiting", t.name(), failed.why, seconds);
    pause(seconds, t.heeds_stop);
    wait = std::min(wait * 2, 30.0);
  }
}

Result<HttpResponse> HttpClient::get(const std::string& url, const HttpHeaders& headers) {
  HttpTransfer t;
  t.url = url;
  t.headers = headers;
  return run(t);
}
Result<HttpResponse> HttpClient::head(const std::string& url, const HttpHeaders& headers) {
  HttpTransfer t;
  t.url = url;
  t.headers = headers;
  t.method = "HEAD";
  return run(t);
}
Result<HttpResponse> HttpClient::send(const HttpRequest& request) {
  HttpTransfer t;
  t.url = request.url;
  t.headers = request.headers;
  t.method = request.method;
  t.request = &request;
  t.heeds_stop = request.heeds_stop;
  return run(t);
}
Result<HttpResponse> HttpClient::download(const std::string& url, const HttpHeaders& headers,
                                          int64_t offset, const Sink& sink) {
  HttpTransfer t;
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
