// One request of HttpClient (base/store/http.h) with its retries: the state that a retry needs, and the handling of
// received bytes.
#pragma once

#include <curl/curl.h>

#include <optional>

#include "base/store/http_message.h"

namespace hone {

struct HttpTransfer {
  std::string url;
  HttpHeaders headers;
  std::string method = "GET";
  const HttpRequest* request = nullptr;  // the argument of send(); null for other requests
  bool heeds_stop = true;                // a stop request of the user aborts the request
  const HttpSink* sink = nullptr;        // the sink of download(); null for other requests
  size_t most_body = 0;                  // the largest body that `response` may hold, in bytes
  int64_t moved = 0;                     // bytes that the sink received in this try
  int64_t at = 0;                        // the offset in the file of the next byte for the sink
  // The headers of the response with which the download began. Its body begins with byte 0 of the file, or with the
  // first requested byte.
  HttpHeaders first;
  bool progressed = false;  // the sink received bytes in this try

  // The state of the last try. body_checked: the first byte of the body has come. to_sink: the body goes to the sink.
  // too_long: the body is longer than HttpRequest::into. other_file: the file on the server has changed.
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
  // Returns true if a part of the response is missing although the connection ended without an error.
  bool is_cut() const;
  bool success_status() const { return response.status == 200 || response.status == 206; }

  // Sends the request once, in at most `seconds`. `reason` is a buffer of CURL_ERROR_SIZE bytes that receives libcurl's
  // text of a failure.
  CURLcode perform(CURL* curl, const HttpClientOptions& options, double seconds, char* reason);
  // Returns true if the file on the server has changed; the next try then loads it from the start.
  bool starts_again();

 private:
  curl_slist* header_list() const;
  void set_body(CURL* curl) const;
  bool begin_body();
  bool take(std::string_view bytes);
};

}  // namespace hone
