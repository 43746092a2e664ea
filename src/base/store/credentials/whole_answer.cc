#include "base/store/credentials/whole_answer.h"

#include <pugixml.hpp>

#include "base/core/json.h"

namespace hone {

bool is_whole_json(std::string_view body) {
  return body.empty() || parse_json(std::string(body), "the answer").ok();
}

bool is_whole_xml(std::string_view body) {
  pugi::xml_document document;
  return body.empty() || document.load_buffer(body.data(), body.size());
}

}  // namespace hone
