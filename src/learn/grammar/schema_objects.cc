// Objects of a schema: members in the order of `properties`, then others.
#include <algorithm>
#include <map>

#include "base/unicode/unicode.h"
#include "learn/grammar/schema_compiler.h"

namespace hone {
namespace {

constexpr size_t kLongestName = 1024;  // bytes

// The beginnings of names, by code points.
struct NameTree {
  std::map<uint32_t, NameTree> next;
  bool is_name = false;

  void add(std::string_view name) {
    NameTree* at = this;
    for (const char *p = name.data(), *end = p + name.size(); p < end;) {
      const Char c = decode_char(p, end);
      p += c.length;
      at = &at->next[c.code];
    }
    at->is_name = true;
  }
};

Result<std::set<std::string>> required_of(const SchemaPart& part) {
  std::set<std::string> names;
  const OrderedJson& list = part.at("required");
  if (list.is_null()) return names;
  if (!list.is_array() ||
      !std::all_of(list.begin(), list.end(), [](const auto& n) { return n.is_string(); }))
    return bad_schema(part, "required is not a list of names");
  for (const OrderedJson& n : list) names.insert(n.get<std::string>());
  return names;
}

}  // namespace

Status SchemaCompiler::add_object(Way way, const SchemaPart& part) {
  const OrderedJson& additional = part.at("additionalProperties");
  int32_t others = -1;
  if (additional.is_object())
    others = rule_of(part.member("additionalProperties"));
  else if (additional == true || (additional.is_null() && !part.has("properties")))
    others = any_value(kDeepestValue);
  else if (!additional.is_null() && additional != false)
    return bad_schema(part, "additionalProperties is neither a schema nor true or false");
  const std::vector<Member> members = HONE_TRY(members_of(part, others));
  add_members(way, members, others < 0 ? -1 : other_member(members, others));
  return Ok{};
}

Result<std::vector<SchemaCompiler::Member>> SchemaCompiler::members_of(const SchemaPart& part,
                                                                       int32_t others) {
  std::set<std::string> required = HONE_TRY(required_of(part));
  const OrderedJson& properties = part.at("properties");
  if (!properties.is_null() && !properties.is_object())
    return bad_schema(part, "properties is not an object");
  std::vector<Member> members;
  const auto add = [&](const std::string& name, int32_t value, bool is_required) -> Status {
    if (name.size() > kLongestName)
      return schema_refused(
          part, fmt::format("a name of {} bytes, more than {}", name.size(), kLongestName));
    members.push_back({name, member_rule(name, value), is_required});
    if (automaton_->full()) return too_large();
    return Ok{};
  };
  if (properties.is_object()) {
    const SchemaPart all = part.member("properties");
    for (const auto& [name, schema] : properties.items())
      HONE_TRY(add(name, rule_of(all.member(name, schema)), required.erase(name) > 0));
  }
  if (others < 0 && !part.has("additionalProperties")) others = any_value(kDeepestValue);
  for (const std::string& name : required) {
    if (others < 0)
      return bad_schema(part, fmt::format("'{}' is required and is not a property", name))
          .todo("add it to properties");
    HONE_TRY(add(name, others, true));
  }
  return members;
}

int32_t SchemaCompiler::member_rule(const std::string& name, int32_t value) {
  Automaton& a = *automaton_;
  const Automaton::Rule r = a.add_rule();
  const int32_t before = a.add_state();
  rules_.maybe_space(a.text(r.start, dump_json(OrderedJson(name)) + ":"), before);
  a.call(before, value, r.end);
  return r.number;
}

// A member with any name but those of `members`, also if it writes their characters as escapes.
int32_t SchemaCompiler::other_member(const std::vector<Member>& members, int32_t value) {
  Automaton& a = *automaton_;
  const Automaton::Rule r = a.add_rule();
  const int32_t colon = a.add_state(), before = a.add_state();
  NameTree names;
  for (const Member& m : members) names.add(m.name);
  const int32_t differs = a.add_state();
  a.call(differs, rules_.any_char(), differs);
  a.byte(differs, '"', '"', colon);
  std::vector<std::pair<const NameTree*, int32_t>> open{{&names, a.text(r.start, "\"")}};
  while (!open.empty()) {
    const auto [tree, at] = open.back();
    open.pop_back();
    if (!tree->is_name) a.byte(at, '"', '"', colon);
    CodeSet same;
    for (const auto& [code, below] : tree->next) {
      const int32_t to = a.add_state();
      add_string_chars(a, at, to, {{code, code}});
      open.emplace_back(&below, to);
      same.push_back({code, code});
    }
    a.call(at, rules_.one_of(complement(normalized(std::move(same)))), differs);
    if (a.full()) break;
  }
  rules_.maybe_space(a.text(colon, ":"), before);
  a.call(before, value, r.end);
  return r.number;
}

void SchemaCompiler::add_members(Way way, const std::vector<Member>& members, int32_t other) {
  Automaton& a = *automaton_;
  // A member may come first (-1: one had to come before), or after others (-1: none can have).
  int32_t first = a.add_state(), later = -1;
  rules_.maybe_space(a.text(way.from, "{"), first);
  const auto add_member = [&](int32_t rule, int32_t to) {
    if (first >= 0) a.call(first, rule, to);
    if (later < 0) return;
    const int32_t before = a.add_state();
    rules_.maybe_space(a.text(later, ","), before);
    a.call(before, rule, to);
  };
  for (const Member& m : members) {
    const int32_t after = a.add_state();
    add_member(m.rule, after);
    if (m.required)
      first = -1;
    else if (later >= 0)
      a.free(later, after);
    later = after;
  }
  if (other >= 0) {
    if (later < 0) later = a.add_state();
    add_member(other, later);
  }
  if (first >= 0) a.byte(first, '}', '}', way.to);
  if (later < 0) return;
  const int32_t last = a.add_state();
  rules_.maybe_space(later, last);
  a.byte(last, '}', '}', way.to);
}

}  // namespace hone
