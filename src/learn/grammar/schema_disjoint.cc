#include "learn/grammar/schema_disjoint.h"

#include <algorithm>

namespace hone {
namespace {

using TypeSet = std::set<std::string>;

bool share_one(const TypeSet& a, const TypeSet& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& t) { return b.contains(t); });
}

class DisjointSearch {
 public:
  explicit DisjointSearch(const ReferTo& refer) : refer_(refer) {}

  bool run(SchemaPart a, SchemaPart b, int depth) {
    if (--budget_ < 0 || depth > kDeepest || !resolve(a) || !resolve(b)) return false;
    for (const char* key : {"anyOf", "oneOf", "allOf"})
      for (auto* one : {&a, &b})
        if (one->at(key).is_array()) return each_choice(*one, key, one == &a ? b : a, depth);
    if (!share_one(types_of(a), types_of(b))) return true;
    const OrderedJson x = values_of(a), y = values_of(b);
    if (!x.is_null() && !y.is_null()) return !share_value(x, y);
    return types_of(a) == TypeSet{"object"} && types_of(b) == TypeSet{"object"} &&
           property_differs(a, b, depth);
  }

 private:
  static constexpr int kDeepest = 8, kMostReferences = 16;
  static constexpr size_t kMostNames = 200;  // of the properties that are compared

  bool resolve(SchemaPart& part) const {
    for (int i = 0; i < kMostReferences; ++i) {
      if (!part.schema->is_object()) return false;
      if (!part.has("$ref")) return true;
      const auto to = refer_(part);
      if (!to) return false;
      part = *to;
    }
    return false;
  }

  bool each_choice(const SchemaPart& choices, const char* key, const SchemaPart& other, int depth) {
    for (size_t i = 0; i < choices.at(key).size(); ++i)
      if (!run(choices.item(key, i), other, depth + 1)) return false;
    return true;
  }

  static OrderedJson values_of(const SchemaPart& part) {
    if (part.has("const")) return OrderedJson::array({part.at("const")});
    return part.at("enum").is_array() ? part.at("enum") : OrderedJson();
  }

  static std::string type_of(const OrderedJson& v) {
    return v.is_number() ? "number" : v.type_name();
  }

  static TypeSet types_of(const SchemaPart& part) {
    TypeSet types;
    if (const OrderedJson values = values_of(part); !values.is_null()) {
      for (const OrderedJson& v : values) types.insert(type_of(v));
      return types;
    }
    const auto named = schema_types(part);
    if (!named.ok()) return types;
    for (const std::string& t : *named) types.insert(t == "integer" ? "number" : t);
    return types;
  }

  // Objects may have their keys in another order: they count as equal.
  static bool share_value(const OrderedJson& x, const OrderedJson& y) {
    const auto equal = [](const OrderedJson& a, const OrderedJson& b) {
      return a == b || (a.is_structured() && b.is_structured());
    };
    return std::any_of(x.begin(), x.end(), [&](const OrderedJson& a) {
      return std::any_of(y.begin(), y.end(), [&](const OrderedJson& b) { return equal(a, b); });
    });
  }

  bool property_differs(const SchemaPart& a, const SchemaPart& b, int depth) {
    const auto requires_it = [](const SchemaPart& part, const std::string& name) {
      const OrderedJson& list = part.at("required");
      return list.is_array() && std::find(list.begin(), list.end(), name) != list.end();
    };
    const OrderedJson& names = a.at("properties");
    if (!names.is_object() || !b.at("properties").is_object()) return false;
    if (names.size() + b.at("properties").size() + a.at("required").size() > kMostNames)
      return false;
    for (const auto& [name, schema] : names.items()) {
      if (!b.at("properties").contains(name) || !requires_it(a, name) || !requires_it(b, name))
        continue;
      if (run(a.member("properties").member(name), b.member("properties").member(name), depth + 1))
        return true;
    }
    return false;
  }

  const ReferTo& refer_;
  int budget_ = 200;  // parts that are compared
};

}  // namespace

bool are_disjoint(const SchemaPart& a, const SchemaPart& b, const ReferTo& refer) {
  return DisjointSearch(refer).run(a, b, 0);
}

}  // namespace hone
