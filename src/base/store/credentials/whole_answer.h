// Checks for HttpRequest::is_whole: whether the body of a response is complete JSON or XML.
#pragma once

#include "base/store/http.h"

namespace hone {

// Return true if the body is a complete document. An empty body counts as complete: some successful requests have none.
bool is_whole_json(std::string_view body);
bool is_whole_xml(std::string_view body);

// Sends a request whose response is JSON, with is_whole_json() as the check: a truncated response is retried. Errors:
// those of HttpClient::send().
Result<HttpResponse> send_for_json(HttpClient& http, HttpRequest request);

}  // namespace hone
