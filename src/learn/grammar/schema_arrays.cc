// Arrays of a schema: `prefixItems`, then any number of `items`.
#include "learn/grammar/schema_compiler.h"

namespace hone {

Status SchemaCompiler::add_array(Way way, const SchemaPart& part) {
  std::vector<int32_t> first;
  if (part.has("prefixItems")) {
    const OrderedJson& list = part.at("prefixItems");
    if (!list.is_array()) return bad_schema(part, "prefixItems is not a list of schemas");
    for (size_t i = 0; i < list.size(); ++i) {
      first.push_back(rule_of(part.item("prefixItems", i)));
      if (automaton_->full()) return too_large();
    }
  }
  int32_t rest = -1;
  const OrderedJson& items = part.at("items");
  if (items.is_object() || items == true)
    rest = rule_of(part.member("items"));
  else if (!part.has("items") && first.empty())
    rest = any_value(kDeepestValue);
  else if (part.has("items") && items != false)
    return bad_schema(part, "items is not a schema");
  const int64_t least = HONE_TRY(schema_count(part, "minItems", 0));
  const int64_t most = HONE_TRY(schema_count(part, "maxItems", -1));
  // Items beyond prefixItems may be anything if a least number asks for them.
  if (rest < 0 && !part.has("items") && least > static_cast<int64_t>(first.size()))
    rest = any_value(kDeepestValue);
  return add_items(way, first, rest, least, most);
}

// `most` -1: any number.
Status SchemaCompiler::add_items(Way way, const std::vector<int32_t>& first, int32_t rest,
                                 int64_t least, int64_t most) {
  Automaton& a = *automaton_;
  int32_t at = a.add_state();
  rules_.maybe_space(a.text(way.from, "["), at);
  const int32_t last = a.add_state();
  a.byte(last, ']', ']', way.to);
  if (least == 0) a.byte(at, ']', ']', way.to);
  const auto comma = [&](int32_t from) {
    const int32_t before = a.add_state();
    rules_.maybe_space(a.text(from, ","), before);
    return before;
  };
  const auto count = static_cast<int64_t>(first.size());
  for (int64_t i = 0; i != most; ++i) {
    const int32_t item = i < count ? first[static_cast<size_t>(i)] : rest;
    if (item < 0) break;
    const int32_t after = a.add_state();
    a.call(i == 0 ? at : comma(at), item, after);
    at = after;
    if (i + 1 >= least) rules_.maybe_space(at, last);
    if (a.full()) return too_large();
    if (most < 0 && i >= count && i + 1 >= least) {  // and again, without a bound
      a.call(comma(at), item, at);
      break;
    }
  }
  return Ok{};
}

}  // namespace hone
