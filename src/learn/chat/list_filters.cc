// Filters of lists and dicts. Reference:
// https://jinja.palletsprojects.com/en/stable/templates/#builtin-filters
#include <algorithm>

#include "learn/chat/python_text.h"
#include "learn/chat/renderer.h"

namespace hone::chat {
namespace {

Result<Value> length_filter(Renderer&, const Value& v, const CallArguments& a) {
  HONE_TRY(bind("length", a, {}));
  switch (v.kind()) {
    case Kind::undefined:
      return Value(int64_t{0});
    case Kind::text:
      return Value(v.ascii() ? static_cast<int64_t>(v.text().size()) : length_of(v.text()));
    case Kind::list:
    case Kind::tuple:
    case Kind::range:
    case Kind::view:
      return Value(static_cast<int64_t>(v.items().size()));
    case Kind::dict:
      return Value(static_cast<int64_t>(v.pairs().size()));
    default:
      return wrong(fmt::format("a {} has no length", type_name(v)));
  }
}

Result<Value> list_filter(Renderer& r, const Value& v, const CallArguments& a) {
  HONE_TRY(bind("list", a, {}));
  return Value::list(HONE_TRY(r.items_of(v)));
}

Result<Value> items_filter(Renderer& r, const Value& v, const CallArguments& a) {
  HONE_TRY(bind("items", a, {}));
  if (v.is(Kind::undefined)) return Value::stream({});
  if (!v.is(Kind::dict)) return wrong(fmt::format("items takes a dict, not a {}", type_name(v)));
  HONE_TRY(r.spend(0, static_cast<int64_t>(v.pairs().size()) * 100));
  Values items;
  for (const auto& [key, value] : v.pairs()) items.push_back(Value::tuple({key, value}));
  return Value::stream(std::move(items));
}

Result<Value> first_filter(Renderer& r, const Value& v, const CallArguments& a) {
  HONE_TRY(bind("first", a, {}));
  if (v.is(Kind::text)) {
    if (v.text().empty()) return Value::undefined("there is no first item");
    return Value(v.text().substr(0, byte_of(v.text(), 1)));
  }
  Values items = v.is(Kind::stream) ? v.take_stream(1) : HONE_TRY(r.items_of(v));
  if (items.empty()) return Value::undefined("there is no first item");
  return items[0];
}

Result<Value> last_filter(Renderer& r, const Value& v, const CallArguments& a) {
  HONE_TRY(bind("last", a, {}));
  if (v.is(Kind::stream)) return wrong("a generator has no last item: use |list before");
  const Values items = HONE_TRY(r.items_of(v));
  if (items.empty()) return Value::undefined("there is no last item");
  return items.back();
}

Result<Value> join_filter(Renderer& r, const Value& v, const CallArguments& a) {
  const auto b = HONE_TRY(bind("join", a, {"d", "attribute"}));
  const std::string between = b[0] ? str(*b[0]) : "";
  const Values items = HONE_TRY(r.items_of(v));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    Value item = items[i];
    if (b[1] && !b[1]->is(Kind::none)) item = HONE_TRY(r.path(std::move(item), *b[1]));
    const std::string part = str(item);
    if (i > 0) out += between;
    HONE_TRY(r.room_for(static_cast<int64_t>(part.size() + between.size())));
    out += part;
    if (i % 64 == 63 || out.size() > 1'000'000)
      HONE_TRY(r.room_for(static_cast<int64_t>(out.size()) / 64));
  }
  HONE_TRY(r.room_for(static_cast<int64_t>(out.size())));
  return Value(std::move(out));
}

Result<Value> reverse_filter(Renderer& r, const Value& v, const CallArguments& a) {
  HONE_TRY(bind("reverse", a, {}));
  if (v.is(Kind::text)) return Value(slice_text(v.text(), length_of(v.text()) - 1, -1, -1));
  Values items = HONE_TRY(r.items_of(v));
  std::reverse(items.begin(), items.end());
  return v.is(Kind::stream) ? Value::list(std::move(items)) : Value::stream(std::move(items));
}

Value without_case(const Value& v) { return v.is(Kind::text) ? Value(lower(v.text())) : v; }

// The items by keys; stable.
Result<Values> sorted(Renderer& r, Values items, const std::vector<Value>& keys, bool reverse) {
  HONE_TRY(r.spend(static_cast<int64_t>(items.size()) * 4, 0));
  std::vector<size_t> at(items.size());
  for (size_t i = 0; i < at.size(); ++i) at[i] = i;
  std::optional<Error> failed;
  std::stable_sort(at.begin(), at.end(), [&](size_t x, size_t y) {
    Result<int> c = order(keys[x], keys[y]);
    if (!c.ok()) {
      if (!failed) failed = c.error();
      return false;
    }
    return reverse ? *c > 0 : *c < 0;
  });
  if (failed) return std::move(*failed);
  Values out;
  for (const size_t i : at) out.push_back(std::move(items[i]));
  return out;
}

Result<Value> sort_filter(Renderer& r, const Value& v, const CallArguments& a) {
  const auto b = HONE_TRY(bind("sort", a, {"reverse", "case_sensitive", "attribute"}));
  Values items = HONE_TRY(r.items_of(v));
  HONE_TRY(r.spend(0, v.weight()));
  const bool exact = b[1] && truth(*b[1]);
  std::vector<Value> keys;
  for (const Value& item : items) {
    Values parts;
    if (b[2] && b[2]->is(Kind::text))
      for (const std::string_view part : split_text(b[2]->text(), ",", -1, false))
        parts.push_back(HONE_TRY(r.path(item, Value(part))));
    else
      parts.push_back(b[2] ? HONE_TRY(r.path(item, *b[2])) : item);
    if (!exact) std::transform(parts.begin(), parts.end(), parts.begin(), without_case);
    keys.push_back(Value::list(std::move(parts)));
  }
  return Value::list(HONE_TRY(sorted(r, std::move(items), keys, b[0] && truth(*b[0]))));
}

Result<Value> dictsort_filter(Renderer& r, const Value& v, const CallArguments& a) {
  const auto b = HONE_TRY(bind("dictsort", a, {"case_sensitive", "by", "reverse"}));
  if (!v.is(Kind::dict)) return wrong(fmt::format("dictsort takes a dict, not a {}", type_name(v)));
  HONE_TRY(r.spend(0, v.weight()));
  const bool by_value = b[1] && str(*b[1]) == "value", exact = b[0] && truth(*b[0]);
  Values items;
  std::vector<Value> keys;
  for (const auto& [key, value] : v.pairs()) {
    items.push_back(Value::tuple({key, value}));
    const Value& by = by_value ? value : key;
    keys.push_back(exact ? by : without_case(by));
  }
  return Value::list(HONE_TRY(sorted(r, std::move(items), keys, b[2] && truth(*b[2]))));
}

Result<Value> unique_filter(Renderer& r, const Value& v, const CallArguments& a) {
  const auto b = HONE_TRY(bind("unique", a, {"case_sensitive", "attribute"}));
  const bool exact = b[0] && truth(*b[0]);
  std::vector<Value> keys;
  Values out;
  for (const Value& item : HONE_TRY(r.items_of(v))) {
    Value key = b[1] ? HONE_TRY(r.path(item, *b[1])) : item;
    if (!exact) key = without_case(key);
    if (!hashable(key)) return wrong(fmt::format("unique cannot tell a {} apart", type_name(key)));
    HONE_TRY(r.spend(1 + static_cast<int64_t>(keys.size()) / 16, key.weight() / 16));
    if (std::any_of(keys.begin(), keys.end(), [&](const Value& k) { return equal(k, key); }))
      continue;
    keys.push_back(std::move(key));
    out.push_back(item);
  }
  return Value::stream(std::move(out));
}

template <int Sign>
Result<Value> extreme_filter(Renderer& r, const Value& v, const CallArguments& a) {
  const auto b = HONE_TRY(bind(Sign < 0 ? "min" : "max", a, {"case_sensitive", "attribute"}));
  const bool exact = b[0] && truth(*b[0]);
  const Values items = HONE_TRY(r.items_of(v));
  if (items.empty()) return Value::undefined("there is no item");
  Value best, best_key;
  for (size_t i = 0; i < items.size(); ++i) {
    Value key = b[1] ? HONE_TRY(r.path(items[i], *b[1])) : items[i];
    if (!exact) key = without_case(key);
    if (i > 0 && HONE_TRY(order(key, best_key)) != Sign) continue;
    best = items[i];
    best_key = std::move(key);
  }
  return best;
}

Result<Value> sum_filter(Renderer& r, const Value& v, const CallArguments& a) {
  const auto b = HONE_TRY(bind("sum", a, {"attribute", "start"}));
  Value total = b[1] ? *b[1] : Value(int64_t{0});
  if (total.is(Kind::text)) return wrong("sum takes numbers: join texts");
  for (const Value& item : HONE_TRY(r.items_of(v))) {
    HONE_TRY(r.spend(1, 0));
    const bool path = b[0] && !b[0]->is(Kind::none);
    total = HONE_TRY(binary(r, "+", total, path ? HONE_TRY(r.path(item, *b[0])) : item));
  }
  return total;
}

Result<Value> map_filter(Renderer& r, const Value& v, const CallArguments& a) {
  if (!truth(v)) return Value::stream({});  // as Jinja: none too
  const Values items = HONE_TRY(r.items_of(v));
  Values out;
  if (a.plain.empty()) {
    const auto b = HONE_TRY(bind("map", a, {"attribute", "default"}, 1));
    const std::optional<Value> fallback = b[1] && !b[1]->is(Kind::none) ? b[1] : std::nullopt;
    for (const Value& item : items) out.push_back(HONE_TRY(r.path(item, *b[0], fallback)));
    return Value::stream(std::move(out));
  }
  if (!a.plain[0].is(Kind::text)) return wrong("map takes the name of a filter");
  const CallArguments rest{Values(a.plain.begin() + 1, a.plain.end()), a.named};
  for (const Value& item : items) out.push_back(HONE_TRY(r.filter(a.plain[0].text(), item, rest)));
  return Value::stream(std::move(out));
}

// select, reject and, with an attribute first, selectattr, rejectattr.
Result<Value> selected(Renderer& r, const Value& v, const CallArguments& a, bool wanted,
                       bool attribute) {
  if (!truth(v)) return Value::stream({});
  if (attribute && a.plain.empty()) return wrong("selectattr needs the name of an attribute");
  const size_t at = attribute ? 1 : 0;
  const bool by_test = a.plain.size() > at;
  CallArguments rest;
  if (by_test) {
    if (!a.plain[at].is(Kind::text)) return wrong("select takes the name of a test");
    rest = {Values(a.plain.begin() + static_cast<std::ptrdiff_t>(at) + 1, a.plain.end()), a.named};
  }
  Values out;
  for (const Value& item : HONE_TRY(r.items_of(v))) {
    const Value looked = attribute ? HONE_TRY(r.path(item, a.plain[0])) : item;
    const bool holds = by_test ? HONE_TRY(r.test(a.plain[at].text(), looked, rest)) : truth(looked);
    HONE_TRY(r.spend(1, 0));
    if (holds == wanted) out.push_back(item);
  }
  return Value::stream(std::move(out));
}
template <bool Wanted, bool Attribute>
Result<Value> select_filter(Renderer& r, const Value& v, const CallArguments& a) {
  return selected(r, v, a, Wanted, Attribute);
}

Result<Value> attr_filter(Renderer& r, const Value& v, const CallArguments& a) {
  const auto b = HONE_TRY(bind("attr", a, {"name"}, 1));
  if (v.is(Kind::dict) && method_of(v, str(*b[0])) == MethodKind::none)
    return Value::undefined(fmt::format("a dict has no attribute '{}'", str(*b[0])));
  return r.attribute(v, str(*b[0]));
}

struct ListFilterName {
  std::string_view name;
  FilterFunction function;
};
constexpr ListFilterName kListFilters[] = {{"attr", attr_filter},
                                           {"count", length_filter},
                                           {"dictsort", dictsort_filter},
                                           {"first", first_filter},
                                           {"items", items_filter},
                                           {"join", join_filter},
                                           {"last", last_filter},
                                           {"length", length_filter},
                                           {"list", list_filter},
                                           {"map", map_filter},
                                           {"max", extreme_filter<1>},
                                           {"min", extreme_filter<-1>},
                                           {"reject", select_filter<false, false>},
                                           {"rejectattr", select_filter<false, true>},
                                           {"reverse", reverse_filter},
                                           {"select", select_filter<true, false>},
                                           {"selectattr", select_filter<true, true>},
                                           {"sort", sort_filter},
                                           {"sum", sum_filter},
                                           {"unique", unique_filter}};

}  // namespace

FilterFunction find_list_filter(std::string_view name) {
  for (const ListFilterName& f : kListFilters)
    if (f.name == name) return f.function;
  return nullptr;
}

}  // namespace hone::chat
