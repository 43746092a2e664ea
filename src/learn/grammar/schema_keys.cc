#include "learn/grammar/schema_keys.h"

#include <algorithm>

#include "learn/grammar/errors.h"

namespace hone {
namespace {

// "": the key changes nothing that is valid; "*": it speaks of all types.
struct SchemaKey {
  const char *name, *type;
};
constexpr SchemaKey kSchemaKeys[] = {{"title", ""},
                                     {"description", ""},
                                     {"default", ""},
                                     {"example", ""},
                                     {"examples", ""},
                                     {"deprecated", ""},
                                     {"readOnly", ""},
                                     {"writeOnly", ""},
                                     {"discriminator", ""},
                                     {"$schema", ""},
                                     {"$id", ""},
                                     {"$comment", ""},
                                     {"$defs", ""},
                                     {"definitions", ""},
                                     {"type", "*"},
                                     {"enum", "*"},
                                     {"const", "*"},
                                     {"$ref", "*"},
                                     {"anyOf", "*"},
                                     {"oneOf", "*"},
                                     {"allOf", "*"},
                                     {"properties", "object"},
                                     {"required", "object"},
                                     {"additionalProperties", "object"},
                                     {"items", "array"},
                                     {"prefixItems", "array"},
                                     {"minItems", "array"},
                                     {"maxItems", "array"},
                                     {"minLength", "string"},
                                     {"maxLength", "string"},
                                     {"pattern", "string"},
                                     {"format", "string"},
                                     {"minimum", "number"},
                                     {"maximum", "number"},
                                     {"exclusiveMinimum", "number"},
                                     {"exclusiveMaximum", "number"}};
constexpr const char* kSchemaTypes[] = {"null",   "boolean", "integer", "number",
                                        "string", "array",   "object"};

const SchemaKey* find_schema_key(const std::string& name) {
  for (const SchemaKey& k : kSchemaKeys)
    if (name == k.name) return &k;
  return nullptr;
}

bool is_empty_key(const std::string& name, const OrderedJson& value) {
  return (name == "uniqueItems" && value == false) || (name == "nullable" && value == false);
}

std::string pointer_part(const std::string& key) {
  std::string out;
  for (const char c : key) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

}  // namespace

SchemaPart SchemaPart::member(const std::string& key, const OrderedJson& value) const {
  return {&value, place + "/" + pointer_part(key)};
}

SchemaPart SchemaPart::item(const std::string& key, size_t i) const {
  return {&schema->at(key)[i], fmt::format("{}/{}/{}", place, key, i)};
}

Error schema_refused(const SchemaPart& part, const std::string& what) {
  return Error(err::kSchemaNotOffered, what).at(part.place).todo("leave it out of the schema");
}

Error bad_schema(const SchemaPart& part, const std::string& what) {
  return Error(err::kBadSchema, what).at(part.place);
}

Status check_schema_keys(const SchemaPart& part) {
  if (!part.schema->is_object()) return bad_schema(part, "a schema is not an object");
  for (const auto& [key, value] : part.schema->items())
    if (find_schema_key(key) == nullptr && !is_empty_key(key, value))
      return schema_refused(part, fmt::format("the schema's key '{}' is not supported", key));
  return Ok{};
}

Status check_alone(const SchemaPart& part, const char* key, const std::set<std::string>& more) {
  for (const auto& [other, value] : part.schema->items()) {
    const SchemaKey* k = find_schema_key(other);
    if (k == nullptr || *k->type == '\0' || other == key || more.contains(other)) continue;
    return schema_refused(part, fmt::format("'{}' beside '{}' is not supported", other, key));
  }
  return Ok{};
}

Result<std::vector<std::string>> schema_types(const SchemaPart& part) {
  const auto known = [](const OrderedJson& t) {
    return t.is_string() && std::find(std::begin(kSchemaTypes), std::end(kSchemaTypes),
                                      t.get<std::string>()) != std::end(kSchemaTypes);
  };
  if (part.has("type")) {
    const OrderedJson& type = part.at("type");
    const OrderedJson list = type.is_array() ? type : OrderedJson::array({type});
    if (!std::all_of(list.begin(), list.end(), known))
      return bad_schema(part, fmt::format("the type {} is unknown", dump_json(type)));
    return list.get<std::vector<std::string>>();
  }
  std::vector<std::string> types;
  for (const auto& [key, value] : part.schema->items()) {
    const SchemaKey* k = find_schema_key(key);
    if (k == nullptr || *k->type == '\0' || *k->type == '*') continue;
    if (std::find(types.begin(), types.end(), k->type) == types.end()) types.push_back(k->type);
  }
  if (types.empty()) types.assign(std::begin(kSchemaTypes), std::end(kSchemaTypes));
  return types;
}

Result<int64_t> schema_count(const SchemaPart& part, const char* key, int64_t absent) {
  if (!part.has(key)) return absent;
  const OrderedJson& v = part.at(key);
  const double n = v.is_number() ? v.get<double>() : -1;
  if (n < 0 || n != std::floor(n) || n > 9e15)
    return bad_schema(part, fmt::format("{} is not a whole number of at least 0", key));
  return static_cast<int64_t>(n);
}

}  // namespace hone
