// Requests and answers of HTTP, and the limits of a client.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/error.h"

namespace hone {

// A positive integer of the environment; `otherwise` if it is unset or something else.
int64_t environment_number(const char* name, int64_t otherwise);

using HttpHeaders = std::map<std::string, std::string>;  // names in lower case

struct HttpRequest {
  std::string method = "GET";
  std::string url = {};
  HttpHeaders headers = {};
  std::span<const std::byte> body = {};  // sent with its length, again with each try
  // Buffer for the body of an answer 200 or 206, which has as many bytes; without it, the body goes
  // to HttpResponse::body.
  std::span<std::byte> into = {};
  // Whether the body of a success is complete: something on the way may have shortened it, with a
  // Content-Length that agrees. Null: any text is.
  bool (*is_whole)(std::string_view body) = nullptr;
  // Repeating the request is harmless: it may be retried if no answer came.
  bool idempotent = true;
  // The user's stop request aborts it (H0109). False for requests that a stopping run still needs.
  bool heeds_stop = false;
  std::string name = {};  // name in messages; "": the URL without its query
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;   // of the last response, after redirects
  std::string body;      // of a download: only for an answer other than 200 or 206, at most 64 KiB
  std::string url;       // after redirects
  int64_t received = 0;  // bytes of the body in HttpRequest::into
  std::string header(const std::string& name) const {
    auto it = headers.find(name);
    return it == headers.end() ? "" : it->second;
  }
};

// Takes consecutive bytes of a download, from byte `at` of the file on.
using HttpSink = std::function<Status(int64_t at, std::string_view bytes)>;

struct HttpClientOptions {
  double connect_timeout_seconds = 10;
  // A transfer that is slower than the least rate (bytes a second) for this time is aborted.
  // HONE_DOWNLOAD_LEAST_RATE and HONE_DOWNLOAD_DEADLINE set both in the environment.
  double stall_timeout_seconds = 30;
  int64_t least_rate = environment_number("HONE_DOWNLOAD_LEAST_RATE", 1000);
  // Largest time of a whole download with its retries; other answers have five minutes.
  int64_t deadline_seconds = environment_number("HONE_DOWNLOAD_DEADLINE", 24 * 3600);
  int64_t most_body_bytes = int64_t{512} << 20;  // limit of answers that are not downloads
  // Retries after 408, 429, 500, 502, 503, 504 and broken connections, waiting first_wait, twice
  // that, ... at most 30 s, or the time in Retry-After; a random part of up to a half keeps
  // clients apart. A download that made progress starts counting again.
  int retries = 4;
  double first_wait_seconds = 0.5;
  Clock* clock = &system_clock();
};

}  // namespace hone
