// Whether an answer in JSON or XML came whole; for HttpRequest::is_whole.
#pragma once

#include "base/store/http.h"

namespace hone {

// An empty body is whole: some successes have none.
bool is_whole_json(std::string_view body);
bool is_whole_xml(std::string_view body);

// Sends a request whose answer is JSON, so a cut one is asked for again.
Result<HttpResponse> send_for_json(HttpClient& http, HttpRequest request);

}  // namespace hone
