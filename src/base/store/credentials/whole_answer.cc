#include "base/store/credentials/whole_answer.h"

#include <pugixml.hpp>

#include "base/core/json.h"

namespace hone {

bool is_whole_json(std::string_view body) { return body.empty() || Json::accept(body); }

bool is_whole_xml(std::string_view body) {
  pugi::xml_document document;
  return body.empty() || document.load_buffer(body.data(), body.size());
}

Result<HttpResponse> send_for_json(HttpClient& http, HttpRequest request) {
  request.is_whole = is_whole_json;
  return http.send(request);
}

}  // namespace hone
