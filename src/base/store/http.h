// An HTTP client over libcurl with retries, redirects, and downloads that resume.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/store/http_message.h"

namespace hone {

struct HttpTransfer;

// Environment variables set the proxies (http_proxy, https_proxy, no_proxy) and the file of certificates
// (SSL_CERT_FILE, REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE). A client runs one request at a time and keeps its
// connections open; use one client for each thread.
//
// An answer with a bad status such as 404 is not an Error: check HttpResponse::status. Errors of all requests: H0106 if
// the URL is not an http or https URL, H0107 if the server cannot be reached after all tries, H0108 if the answer is
// longer than HttpClientOptions::most_body_bytes, H0109 if the user asked to stop.
class HttpClient {
 public:
  using Options = HttpClientOptions;
  HttpClient();
  explicit HttpClient(Options options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;

  // Sends a GET and follows up to 10 redirects.
  Result<HttpResponse> get(const std::string& url, const HttpHeaders& headers = {});
  // Sends a request and does not follow redirects. An answer counts as a broken connection if it is cut off, is longer
  // or shorter than HttpRequest::into, or does not pass HttpRequest::is_whole. A request that is not idempotent is
  // retried only if it had no effect: if no connection was made, or after status 429 or 503.
  Result<HttpResponse> send(const HttpRequest& request);
  // Sends a HEAD and does not follow redirects.
  Result<HttpResponse> head(const std::string& url, const HttpHeaders& headers = {});

  // Sends a GET for the bytes of a file from `offset` on, and follows up to 10 redirects. Calls sink(at, bytes) with
  // consecutive pieces, the first at `offset`. If `at` is 0 instead of the expected offset, the server sends the file
  // from the start: drop the earlier bytes. After a cut connection, the download continues with a Range request if the
  // file on the server is unchanged (If-Range), else from byte 0. If the status is not 200 or 206, the answer is
  // returned and the sink is not called. Further errors: the first error of the sink, and H0108 if the server sends a
  // range that was not requested.
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

// %-encodes a path segment or a query value of a URL. Letters, digits, "-_.~" and the bytes in `keep` stay.
std::string url_encoded(std::string_view text, std::string_view keep = "");

}  // namespace hone
