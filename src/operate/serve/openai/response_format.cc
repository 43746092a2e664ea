#include "operate/serve/openai/response_format.h"

#include <algorithm>

#include "learn/grammar/json_schema.h"
#include "operate/serve/protocol/errors.h"

namespace hone {
namespace {

Error bad_format(const std::string& place, const std::string& what) {
  return Error(err::kServeRequest, what).at(place);
}

// H3415: a key that is not among `known`.
Status known_keys(const OrderedJson& object, const std::string& place,
                  std::initializer_list<const char*> known) {
  for (const auto& [key, value] : object.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      return bad_format(place, fmt::format("the key '{}' is not supported", key));
  return Ok{};
}

}  // namespace

Result<std::shared_ptr<const Automaton>> language_of_format(const OrderedJson& format,
                                                            const std::string& place) {
  using Language = std::shared_ptr<const Automaton>;
  if (format.is_null()) return Language();
  const std::string type = text_at(format, "type");
  if (type == "text" || type == "json_object") {
    HONE_TRY(known_keys(format, place, {"type"}));
    return type == "text" ? Language() : object_automaton();
  }
  if (type != "json_schema")
    return bad_format(place, "the type is not text, json_object or json_schema");
  const bool inside = format.contains("json_schema");
  const OrderedJson& named = inside ? format["json_schema"] : format;
  if (inside) HONE_TRY(known_keys(format, place, {"type", "json_schema"}));
  if (!named.is_object()) return bad_format(place, "json_schema is not an object");
  HONE_TRY(known_keys(named, place, {"type", "name", "description", "schema", "strict"}));
  const OrderedJson& schema = value_at(named, "schema");
  if (schema.is_null()) return bad_format(place, "there is no schema");
  Result<Language> language = schema_automaton(schema);
  if (!language.ok()) return std::move(language.error()).at(place);
  return language;
}

}  // namespace hone
