// One request of an HttpClient: its tries and the bytes of its answers.
#pragma once

#include <curl/curl.h>

#include <optional>

#include "base/store/http_message.h"

namespace hone {

struct HttpTransfer {
  std::string url;
  HttpHeaders headers;
  std::string method = "GET";
  const HttpRequest* request = nullptr;  // of send()
  bool heeds_stop = true;
  const HttpSink* sink = nullptr;  // a download
  size_t most_body = 0;            // limit of an answer that is not a download
  int64_t moved = 0;               // bytes of this try
  int64_t at = 0;                  // next byte the sink expects
  HttpHeaders first;               // of the answer that byte 0, or the first byte here, came with
  bool progressed = false;

  // State of the last try.
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
  // Parts of the answer are missing, though the connection ended in order.
  bool is_cut() const;
  bool success_status() const { return response.status == 200 || response.status == 206; }

  // Sends the request once, in at most these seconds. `reason`: libcurl's text of a failure,
  // CURL_ERROR_SIZE bytes.
  CURLcode perform(CURL* curl, const HttpClientOptions& options, double seconds, char* reason);
  // True: the file on the server is another one, so the next try loads it from the start.
  bool starts_again();

 private:
  curl_slist* header_list() const;
  void set_body(CURL* curl) const;
  bool begin_body();
  bool take(std::string_view bytes);
};

}  // namespace hone
