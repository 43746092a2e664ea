// HTTP requests and responses, and the options of HttpClient (base/store/http.h).
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/error.h"

namespace hone {

// The value of an environment variable if it is a positive integer, else `otherwise`.
int64_t environment_number(const char* name, int64_t otherwise);

using HttpHeaders = std::map<std::string, std::string>;  // names in lower case

struct HttpRequest {
  std::string method = "GET";
  std::string url = {};
  HttpHeaders headers = {};
  std::span<const std::byte> body = {};  // the body to send; must stay valid until send() returns
  // A buffer for the body of a response with status 200 or 206. The body must have exactly this size. Empty: the body
  // goes to HttpResponse::body.
  std::span<std::byte> into = {};
  // Returns true if the body of a response with status 2xx is complete. It finds bodies that a proxy has shortened
  // together with their Content-Length. Null: every body counts as complete.
  bool (*is_whole)(std::string_view body) = nullptr;
  // True if it is harmless to send the request twice: the request is then retried if no response came.
  bool idempotent = true;
  // True: a stop request of the user (base/core/signals.h) aborts the request with H0109. False: for requests that a
  // run needs while it stops.
  bool heeds_stop = false;
  std::string name = {};  // the name of the request in messages; "": the URL without its query
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;  // the headers of the last response, after redirects
  // The body; "" if it went to HttpRequest::into or to the sink of a download. If a download ends with a status other
  // than 200 or 206, the member has at most 64 KiB of the body.
  std::string body;
  std::string url;       // the URL of the last response, after redirects
  int64_t received = 0;  // the number of bytes that were written to HttpRequest::into
  // The value of a header, whose name is in lower case; "": there is no such header.
  std::string header(const std::string& name) const {
    auto it = headers.find(name);
    return it == headers.end() ? "" : it->second;
  }
};

// Receives a piece of a download (HttpClient::download). `at` is the offset of the piece in the file.
using HttpSink = std::function<Status(int64_t at, std::string_view bytes)>;

struct HttpClientOptions {
  double connect_timeout_seconds = 10;
  // A transfer that stays below `least_rate` for this time is aborted, and may be retried.
  double stall_timeout_seconds = 30;
  // In bytes a second. The environment variable HONE_DOWNLOAD_LEAST_RATE sets the default.
  int64_t least_rate = environment_number("HONE_DOWNLOAD_LEAST_RATE", 1000);
  // The largest time for HttpClient::download() with all its retries. Other requests have at most 300 s. The
  // environment variable HONE_DOWNLOAD_DEADLINE sets the default.
  int64_t deadline_seconds = environment_number("HONE_DOWNLOAD_DEADLINE", 24 * 3600);
  int64_t most_body_bytes = int64_t{512} << 20;  // the largest body in HttpResponse::body
  // The number of retries after status 408, 429, 500, 502, 503 or 504, or a broken connection. If a try of a download
  // has received data, the retries count from 0 again.
  int retries = 4;
  // The wait before the first retry. Each later wait is twice the one before, up to 30 s. A longer time in the header
  // Retry-After, up to 60 s, replaces the wait. Each wait is multiplied by a random factor from 1 to 1.5, so that
  // clients do not retry at the same time.
  double first_wait_seconds = 0.5;
  Clock* clock = &system_clock();  // not owned
};

}  // namespace hone
