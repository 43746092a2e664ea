// Whether an answer in JSON or XML came whole; for HttpRequest::is_whole.
#pragma once

#include <string_view>

namespace hone {

// An empty body is whole: some successes have none.
bool is_whole_json(std::string_view body);
bool is_whole_xml(std::string_view body);

}  // namespace hone
