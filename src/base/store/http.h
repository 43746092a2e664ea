// HTTP over libcurl: retries, redirects, downloads that resume.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/store/http_message.h"

namespace hone {

struct HttpTransfer;

// Proxies come from http_proxy, https_proxy, no_proxy; certificates from SSL_CERT_FILE,
// REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE if set. Runs one request at a time; keeps its connections.
class HttpClient {
 public:
  using Options = HttpClientOptions;
  HttpClient();
  explicit HttpClient(Options options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;

  // Returns the answer with any status. Errors H0107 (unreachable after all tries), H0108 (longer
  // than allowed), H0109 (the user asked to stop), H0106 (not an http or https URL).
  Result<HttpResponse> get(const std::string& url, const HttpHeaders& headers = {});
  // Sends any method and follows no redirects. Returns the answer with any status; an answer that
  // is longer or shorter than `into`, not is_whole, or cut off counts as a broken connection. A request that is not
  // idempotent is retried only after 429 and 503, which mean that nothing was done, and if no
  // connection was made.
  Result<HttpResponse> send(const HttpRequest& request);
  // Follows no redirects.
  Result<HttpResponse> head(const std::string& url, const HttpHeaders& headers = {});

  // GET from byte `offset` on. `sink(at, bytes)` receives consecutive pieces; an `at` of 0 after
  // others means that the server started again. A cut connection resumes with Range if the file is
  // unchanged (If-Range), else from byte 0. An answer other than 200 and 206 is returned without
  // calling the sink.
  using Sink = HttpSink;
  Result<HttpResponse> download(const std::string& url, const HttpHeaders& headers, int64_t offset,
                                const Sink& sink);

  const Options& options() const { return options_; }
  void set_retries(int retries) { options_.retries = retries; }

 private:
  Result<HttpResponse> run(HttpTransfer& transfer);
  bool made_progress(const HttpTransfer& transfer, bool timed_out) const;
  void pause(double seconds, bool heeds_stop);
  Options options_;
  void* curl_ = nullptr;
};

// %-encodes a URL path segment or query value; bytes in `keep` stay.
std::string url_encoded(std::string_view text, std::string_view keep = "");

}  // namespace hone
