#include "learn/train/deepspeed/block.h"

#include "base/core/text.h"

namespace hone::deepspeed {
namespace {

const Json kNull;
const Json kNoKeys = Json::object();

bool is_auto(const Json& v) { return v.is_string() && v.get_ref<const std::string&>() == "auto"; }

// "/optimizer/params/lr" as "optimizer.params.lr".
std::string dotted(const std::string& pointer) {
  std::string s = pointer.empty() ? pointer : pointer.substr(1);
  std::replace(s.begin(), s.end(), '/', '.');
  return s;
}

void wrong_type(const Block& b, const std::string& key, const std::string& expected) {
  b.reading.cannot(fmt::format("{} is {}, not {}", key, dump_json(b.json.at(key)), expected),
                   b.place_of(key), "see https://www.deepspeed.ai/docs/config-json/");
}

}  // namespace

std::string Reading::place(const std::string& pointer) const {
  const auto at = places.find(pointer);
  std::string where = name;
  if (at != places.end()) where += fmt::format(":{}:{}", at->second.line, at->second.column);
  return pointer.empty() ? where : fmt::format("{} {}", where, dotted(pointer));
}

void Reading::imply(const std::string& setting, const Json& value, const std::string& pointer) {
  if (Status s = schema.imply(setting, value, place(pointer), notices); !s.ok()) fail(s.error());
}

void Reading::imply_default(const std::string& setting, const Json& value,
                            const std::string& pointer) {
  const std::string where = fmt::format("DeepSpeed's default of {}", dotted(pointer));
  if (Status s = schema.imply_default(setting, value, where, notices); !s.ok()) fail(s.error());
}

void Reading::cannot(const std::string& what, const std::string& pointer,
                     const std::string& remedy) {
  fail(Error(err::kDeepSpeedValue, what).at(place(pointer)).todo(remedy));
}

const Json& Block::at(const std::string& key) const {
  const auto it = json.find(key);
  return it == json.end() || is_auto(*it) ? kNull : *it;
}

Block Block::block(const std::string& key) const {
  const Json& value = at(key);
  if (!value.is_null() && !value.is_object()) wrong_type(*this, key, "an object {...}");
  return {reading, value.is_object() ? value : kNoKeys, place_of(key)};
}

void Block::walk(const std::vector<Key>& keys) const {
  for (const auto& [name, value] : json.items()) {
    const auto known = std::find_if(keys.begin(), keys.end(),
                                    [&, &n = name](const Key& k) { return k.name == n; });
    if (known == keys.end()) {
      std::vector<std::string> names;
      for (const Key& k : keys) names.push_back(k.name);
      const std::string near = nearest_name(name, names);
      reading.fail(Error(err::kDeepSpeedKey, fmt::format("DeepSpeed has no key '{}' here", name))
                       .at(reading.place(place_of(name)))
                       .todo(near.empty() ? "remove it: DeepSpeed would not act on it either"
                                          : fmt::format("did you mean {}?", near)));
    } else if (!known->act) {
      reading.without_effect.push_back(name);
    } else if (!value.is_null() && !is_auto(value)) {
      known->act(reading, value, place_of(name));
    }
  }
}

bool Block::flag(const std::string& key, bool other) const {
  const Json& v = at(key);
  if (v.is_null()) return other;
  if (v.is_boolean()) return v.get<bool>();
  return wrong_type(*this, key, "true or false"), other;
}

double Block::number(const std::string& key, double other) const {
  const Json& v = at(key);
  if (v.is_null()) return other;
  if (v.is_number()) return v.get<double>();
  return wrong_type(*this, key, "a number"), other;
}

std::string Block::text(const std::string& key, const std::string& other) const {
  const Json& v = at(key);
  if (v.is_null()) return other;
  if (v.is_string()) return v.get<std::string>();
  return wrong_type(*this, key, "a text"), other;
}

Act sets(const std::string& setting) {
  return [setting](Reading& r, const Json& v, const std::string& pointer) {
    r.imply(setting, v, pointer);
  };
}

Act refused(const std::string& remedy) {
  return [remedy](Reading& r, const Json& v, const std::string& pointer) {
    if (v.is_boolean() && !v.get<bool>()) return;
    if (v.is_object() && (v.empty() || v.value("enabled", Json(true)) == Json(false))) return;
    if (v.is_object() && v.contains("enabled") && is_auto(v["enabled"])) return;
    r.cannot(fmt::format("hone cannot do what {} asks for", dotted(pointer)), pointer, remedy);
  };
}

}  // namespace hone::deepspeed
