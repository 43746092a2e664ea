// HTTP over libcurl: retries, redirects, downloads that continue where they broke off.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/error.h"

namespace hone {

// A positive whole number of the environment; `otherwise` when it is not set or not such a number.
int64_t environment_number(const char* name, int64_t otherwise);

using HttpHeaders = std::map<std::string, std::string>;  // names in lower case

struct HttpRequest {
  std::string method = "GET";
  std::string url = {};
  HttpHeaders headers = {};
  std::span<const std::byte> body = {};  // sent with its length, again with each try
  // Where the body of an answer 200 or 206 goes; without it, into HttpResponse::body.
  std::span<std::byte> into = {};
  // The same request sent twice does what one does: it may be sent again when no answer came.
  bool idempotent = true;
  // A request of the user to stop breaks it off (H0109). Not what a run must still do then.
  bool heeds_stop = false;
  std::string name = {};  // what messages call it; "" = the URL without its query
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;   // of the last response, after redirects
  std::string body;      // of a download: only of an answer that is not 200 or 206, at most 64 KiB
  std::string url;       // after redirects
  int64_t received = 0;  // bytes of the body that went to HttpRequest::into
  std::string header(const std::string& name) const {
    auto it = headers.find(name);
    return it == headers.end() ? "" : it->second;
  }
};

// Proxies are taken from http_proxy, https_proxy, no_proxy; certificates from SSL_CERT_FILE,
// REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE when set. One request at a time; keeps its connections.
class HttpClient {
 public:
  struct Options {
    double connect_timeout_seconds = 10;
    // A transfer that is slower than the least rate (bytes a second) for so long is broken off.
    // HONE_DOWNLOAD_LEAST_RATE and HONE_DOWNLOAD_DEADLINE are those of the environment.
    double stall_timeout_seconds = 30;
    int64_t least_rate = environment_number("HONE_DOWNLOAD_LEAST_RATE", 1000);
    // A whole download with its tries may take so long; other answers have five minutes at most.
    int64_t deadline_seconds = environment_number("HONE_DOWNLOAD_DEADLINE", 24 * 3600);
    int64_t most_body_bytes = int64_t{512} << 20;  // limit of answers other than downloads
    // Tries after the first, on 408, 429, 500, 502, 503, 504 and broken connections, waiting
    // first_wait, twice that, ... at most 30 s, or what Retry-After says; a random part of up to a
    // half of it keeps clients apart. A download that made progress starts to count again.
    int retries = 4;
    double first_wait_seconds = 0.5;
    Clock* clock = &system_clock();
  };
  HttpClient();
  explicit HttpClient(Options options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;

  // The answer, whatever its status. Errors H0107 (not reachable after all tries), H0108 (it is
  // longer than allowed), H0109 (the user asked to stop), H0106 (no http or https URL).
  Result<HttpResponse> get(const std::string& url, const HttpHeaders& headers = {});
  // Any method; redirects are not followed. The answer, whatever its status; an answer that is longer
  // than `into`, or is cut off, counts as a broken connection. One that is not idempotent is tried
  // again after 429 and 503 only, which say that nothing was done, and when no connection was made.
  Result<HttpResponse> send(const HttpRequest& request);
  // Redirects are not followed.
  Result<HttpResponse> head(const std::string& url, const HttpHeaders& headers = {});

  // GET from byte `offset` on. `sink(at, bytes)` gets consecutive pieces; an `at` of 0 after others
  // means that the server began again. A cut connection is continued by Range, when the file is still
  // the same (If-Range), else from byte 0. An answer other than 200 and 206 is returned without touching
  // the sink.
  using Sink = std::function<Status(int64_t at, std::string_view bytes)>;
  Result<HttpResponse> download(const std::string& url, const HttpHeaders& headers, int64_t offset,
                                const Sink& sink);

  const Options& options() const { return options_; }
  void set_retries(int retries) { options_.retries = retries; }

 private:
  struct Transfer;
  Result<HttpResponse> run(Transfer& transfer);
  Options options_;
  void* curl_ = nullptr;
};

// Bytes of a URL path segment or query value, %-encoded; `keep` are left as they are.
std::string url_encoded(std::string_view text, std::string_view keep = "");

}  // namespace hone
