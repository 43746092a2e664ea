#include "operate/web/api.h"

#include <filesystem>

#include "base/core/error_report.h"
#include "operate/monitor/errors.h"
#include "operate/pipeline/errors.h"
#include "operate/registry/errors.h"
#include "operate/web/browser_json.h"
#include "operate/web/errors.h"

namespace hone {

std::string ApiRequest::get(const std::string& key, const std::string& otherwise) const {
  const auto it = query.find(key);
  return it == query.end() || it->second.empty() ? otherwise : it->second;
}

int64_t ApiRequest::number(const std::string& key, int64_t otherwise, int64_t most) const {
  const std::string text = get(key);
  if (text.empty() || text.size() > 15 || text.find_first_not_of("0123456789") != std::string::npos)
    return otherwise;
  const int64_t value = std::stoll(text);
  return value <= most ? value : otherwise;
}

Status ApiRequest::check_numbers(std::initializer_list<const char*> keys) const {
  for (const char* key : keys)
    if (const std::string text = get(key);
        text.find_first_not_of("0123456789") != std::string::npos)
      return Error(err::kWebView, fmt::format("'{}' is not a whole number", text))
          .at(key)
          .todo(fmt::format("write {} with digits, such as {}=0", key, key));
  return Ok{};
}

std::optional<std::map<std::string, std::string>> parse_query(std::string_view query) {
  std::map<std::string, std::string> all;
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    const size_t equals = pair.find('=');
    const auto key = percent_decoded(pair.substr(0, equals), true);
    const auto value = percent_decoded(
        equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true);
    if (!key || !value || value->find('\0') != std::string::npos) return {};
    all[*key] = *value;
  }
  return all;
}

WebAnswer api_answer(const OrderedJson& value) {
  return {.status = 200, .body = browser_json(value) + "\n"};
}

WebAnswer api_rows_answer(const OrderedJson& head, const OrderedJson& rows) {
  std::string body = browser_json(head);
  body.pop_back();
  return {.status = 200, .body = body + ", \"rows\": " + browser_rows_json(rows) + "}\n"};
}

WebAnswer api_failure(const Error& error, int status) {
  for (const ErrorCode& code :
       {err::kNoRun, err::kNoPipelineRun, err::kNotRegistered, err::kNotBelow})
    if (error.is(code)) status = 404;
  WebAnswer answer = api_answer(error_json(error));
  answer.status = status;
  return answer;
}

}  // namespace hone
