#include "learn/grammar/schema_compiler.h"

#include <algorithm>

#include "learn/grammar/errors.h"
#include "learn/grammar/schema_disjoint.h"

namespace hone {
namespace {

bool has_type(const OrderedJson& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  if (!value.is_number()) return false;
  const double x = value.get<double>();
  return type == "number" || x == std::floor(x);
}

// False if there is a NaN or an infinity in a value.
bool is_finite(const OrderedJson& value) {
  if (value.is_structured()) return std::all_of(value.begin(), value.end(), is_finite);
  return !value.is_number_float() || std::isfinite(value.get<double>());
}

}  // namespace

Error SchemaCompiler::too_large() const {
  return Error(err::kSchemaNotOffered,
               "the schema is too large: its counts, names and values "
               "together need too many states")
      .todo("use smaller bounds of lengths and items, or fewer values");
}

Result<std::shared_ptr<const Automaton>> SchemaCompiler::compile(const OrderedJson& schema) {
  root_ = {&schema, "#"};
  Automaton& a = *automaton_;
  const Automaton::Rule document = a.add_rule();
  const int32_t begin = a.add_state();
  rules_.maybe_space(document.start, begin);
  a.call(begin, rule_of(root_), document.end);
  while (!pending_.empty()) {
    const auto [number, part] = std::move(pending_.back());
    pending_.pop_back();
    const Automaton::Rule r = a.rule(number);
    HONE_TRY(compile_part({r.start, r.end}, part));
    if (a.full()) return too_large();
  }
  const auto fault = a.finish(document.number);
  if (fault == Automaton::Fault::no_text)
    return bad_schema(root_, "no document is valid by the schema")
        .todo("give each $ref that refers to itself a way to end, such as null or an empty list");
  if (fault == Automaton::Fault::endless)
    return bad_schema(root_, "a $ref of the schema is its own whole value");
  return std::shared_ptr<const Automaton>(automaton_);
}

std::shared_ptr<const Automaton> SchemaCompiler::any_object() {
  Automaton& a = *automaton_;
  const Automaton::Rule document = a.add_rule();
  const int32_t begin = a.add_state();
  rules_.maybe_space(document.start, begin);
  a.call(begin, any_object_rule(kDeepestValue), document.end);
  HONE_BUG_IF(a.finish(document.number), "there is no JSON object");
  return automaton_;
}

int32_t SchemaCompiler::rule_of(const SchemaPart& part) {
  const auto [it, is_new] = known_.try_emplace(part.schema, -1);
  if (!is_new) return it->second;
  it->second = automaton_->add_rule().number;
  pending_.emplace_back(it->second, part);
  return it->second;
}

Status SchemaCompiler::compile_part(Way way, const SchemaPart& part) {
  if (part.schema->is_boolean()) {
    if (*part.schema == true) automaton_->call(way.from, any_value(kDeepestValue), way.to);
    return Ok{};
  }
  HONE_TRY(check_schema_keys(part));
  if (part.has("$ref")) {
    HONE_TRY(check_alone(part, "$ref"));
    automaton_->call(way.from, rule_of(HONE_TRY(referred(part))), way.to);
    return Ok{};
  }
  for (const char* key : {"anyOf", "oneOf", "allOf"})
    if (part.has(key)) {
      HONE_TRY(check_alone(part, key));
      return add_choices(way, part, key);
    }
  if (part.has("enum") || part.has("const")) return add_values(way, part);
  std::vector<std::string> types = HONE_TRY(schema_types(part));
  const auto has = [&](const char* t) {
    return std::find(types.begin(), types.end(), t) != types.end();
  };
  if (has("number") && has("integer")) std::erase(types, "integer");
  for (const std::string& type : types) HONE_TRY(compile_type(way, part, type));
  return Ok{};
}

Status SchemaCompiler::compile_type(Way way, const SchemaPart& part, const std::string& type) {
  if (type == "object") return add_object(way, part);
  if (type == "array") return add_array(way, part);
  if (type == "string") return add_string(way, part);
  if (type == "integer" || type == "number") return add_number(way, part, type == "integer");
  for (const char* word : {"true", "false", "null"})
    if ((type == "null") == (word[0] == 'n'))
      automaton_->free(automaton_->text(way.from, word), way.to);
  return Ok{};
}

// A reference within the schema: "#", or "#/" and a JSON pointer.
Result<SchemaPart> SchemaCompiler::referred(const SchemaPart& part) {
  const std::string ref = text_at(*part.schema, "$ref");
  if (ref == "#") return root_;
  if (!ref.starts_with("#/"))
    return schema_refused(part, fmt::format("the $ref '{}' is not within the schema", ref))
        .todo("refer to a part of this schema, such as #/$defs/name");
  SchemaPart at = root_;
  for (size_t begin = 2; begin <= ref.size();) {
    const size_t end = std::min(ref.find('/', begin), ref.size());
    std::string key;
    for (size_t i = begin; i < end; ++i) {
      const bool escaped = ref[i] == '~' && i + 1 < end && (ref[i + 1] == '0' || ref[i + 1] == '1');
      key += escaped ? (ref[++i] == '0' ? '~' : '/') : ref[i];
    }
    begin = end + 1;
    if (const OrderedJson* member = member_of(*at.schema, key)) {
      at = at.member(key, *member);
      continue;
    }
    const bool digits =
        !key.empty() && key.size() < 6 && key.find_first_not_of("0123456789") == std::string::npos;
    if (!at.schema->is_array() || !digits || std::stoul(key) >= at.schema->size())
      return bad_schema(part, fmt::format("the $ref '{}' refers to nothing", ref));
    at = {&(*at.schema)[std::stoul(key)], at.place + "/" + key};
  }
  return at;
}

const OrderedJson* SchemaCompiler::member_of(const OrderedJson& object, const std::string& key) {
  if (!object.is_object()) return nullptr;
  const auto [index, is_new] = indexes_.try_emplace(&object);
  if (is_new)
    for (const auto& [name, value] : object.items()) index->second[name] = &value;
  const auto it = index->second.find(key);
  return it == index->second.end() ? nullptr : it->second;
}

Status SchemaCompiler::add_choices(Way way, const SchemaPart& part, const char* key) {
  const OrderedJson& list = part.at(key);
  if (!list.is_array() || list.empty())
    return bad_schema(part, fmt::format("{} is not a list of schemas", key));
  if (*key == 'a' && key[1] == 'l' && list.size() > 1)
    return schema_refused(part, "allOf of several schemas is not supported")
        .todo("write one schema with the keys of all");
  if (*key == 'o') HONE_TRY(check_disjoint(part));
  for (size_t i = 0; i < list.size() && !automaton_->full(); ++i)
    automaton_->call(way.from, rule_of(part.item(key, i)), way.to);
  return Ok{};  // compile() looks whether it is full
}

// Each choice of oneOf excludes the others, or a value could be valid by two of them.
Status SchemaCompiler::check_disjoint(const SchemaPart& part) {
  const size_t count = part.at("oneOf").size();
  constexpr size_t kMostChoices = 256;
  if (count > kMostChoices)
    return schema_refused(part, fmt::format("oneOf of more than {} schemas", kMostChoices));
  const auto refer = [&](const SchemaPart& p) -> std::optional<SchemaPart> {
    const auto to = referred(p);
    return to.ok() ? std::optional(*to) : std::nullopt;
  };
  for (size_t i = 0; i < count; ++i)
    for (size_t j = i + 1; j < count; ++j)
      if (!are_disjoint(part.item("oneOf", i), part.item("oneOf", j), refer))
        return schema_refused(
                   part, fmt::format("choices {} and {} of oneOf do not exclude each other", i, j))
            .todo("use anyOf, or give both a required property with another const");
  return Ok{};
}

// enum and const: the values as they are, those that begin alike with their beginning once.
Status SchemaCompiler::add_values(Way way, const SchemaPart& part) {
  const char* key = part.has("const") ? "const" : "enum";
  HONE_TRY(check_alone(part, key, {"type"}));
  const OrderedJson list = *key == 'c' ? OrderedJson::array({part.at(key)}) : part.at(key);
  if (!list.is_array() || list.empty()) return bad_schema(part, "enum is not a list of values");
  const auto types = HONE_TRY(schema_types({part.schema, part.place}));
  std::unordered_map<uint64_t, int32_t> states;  // by the state before and a byte
  for (const OrderedJson& value : list) {
    if (part.has("type") &&
        std::none_of(types.begin(), types.end(), [&](const auto& t) { return has_type(value, t); }))
      continue;
    if (!is_finite(value)) return bad_schema(part, "a value is not a number of JSON");
    int32_t at = way.from;
    for (const char c : dump_json(value)) {
      const uint64_t key_of = static_cast<uint64_t>(at) << 8 | static_cast<uint8_t>(c);
      const auto [it, is_new] = states.try_emplace(key_of, -1);
      if (is_new) it->second = automaton_->text(at, std::string_view(&c, 1));
      at = it->second;
      if (automaton_->full()) return too_large();
    }
    automaton_->free(at, way.to);
  }
  return Ok{};
}

int32_t SchemaCompiler::any_value(int depth) {
  if (const auto it = values_.find(depth); it != values_.end()) return it->second;
  Automaton& a = *automaton_;
  const Automaton::Rule r = a.add_rule();
  values_[depth] = r.number;
  for (const char* word : {"true", "false", "null"}) a.free(a.text(r.start, word), r.end);
  a.call(r.start, rules_.any_string(), r.end);
  a.call(r.start, rules_.any_number(), r.end);
  if (depth > 0) {
    a.call(r.start, any_object_rule(depth), r.end);
    a.call(r.start, any_array_rule(depth), r.end);
  }
  return r.number;
}

int32_t SchemaCompiler::any_object_rule(int depth) {
  if (const auto it = objects_.find(depth); it != objects_.end()) return it->second;
  const Automaton::Rule r = automaton_->add_rule();
  objects_[depth] = r.number;
  add_members({r.start, r.end}, {}, other_member({}, any_value(depth - 1)));
  return r.number;
}

int32_t SchemaCompiler::any_array_rule(int depth) {
  if (const auto it = arrays_.find(depth); it != arrays_.end()) return it->second;
  const Automaton::Rule r = automaton_->add_rule();
  arrays_[depth] = r.number;
  const Status added = add_items({r.start, r.end}, {}, any_value(depth - 1), 0, -1);
  HONE_BUG_IF(!added.ok(), "a list without bounds is too large");
  return r.number;
}

}  // namespace hone
