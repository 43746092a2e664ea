#include "learn/configs/block.h"

#include <algorithm>

#include "base/core/text.h"

namespace hone {
namespace {

const Json kUnset;
const Json kNothing = Json::object();

std::string dotted_key(const std::string& pointer) {
  std::string s = pointer.empty() ? pointer : pointer.substr(1);
  std::replace(s.begin(), s.end(), '/', '.');
  return s;
}

std::string shown_value(const Json& value) {
  return value.is_string() ? value.get<std::string>() : dump_json(value);
}

bool is_off(const Json& value) {
  if (value.is_structured()) return value.empty();
  const std::string text = to_lower(shown_value(value));
  return text.empty() || text == "none" || text == "0" || text == "0.0" || bool_of(text) == false;
}

// Texts inside as the numbers and truths that they are.
Json typed_value(const Json& value) {
  if (value.is_structured()) {
    Json all = value;
    for (Json& one : all) one = typed_value(one);
    return all;
  }
  if (!value.is_string()) return value;
  const std::string& text = value.get_ref<const std::string&>();
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  int64_t whole = 0;
  double number = 0;
  if (text.find_first_of(".eE") == std::string::npos && assign(Field(&whole), value)) return whole;
  return assign(Field(&number), value) ? Json(number) : value;
}

}  // namespace

std::string ConfigReading::place(const std::string& pointer) const {
  const auto at = places.find(pointer);
  const std::string where =
      at == places.end() ? name : fmt::format("{}:{}:{}", name, at->second.line, at->second.column);
  return pointer.empty() ? where : fmt::format("{} {}", where, dotted_key(pointer));
}

const Json& ConfigBlock::at(const std::string& key) const {
  const auto it = json.find(key);
  return it == json.end() ? kUnset : *it;
}
bool ConfigBlock::has(const std::string& key) const { return !at(key).is_null(); }

ConfigBlock ConfigBlock::block(const std::string& key) const {
  const Json& value = at(key);
  if (!value.is_null() && !value.is_object()) cannot_be(key, "write a map of keys and values");
  return {reading, value.is_object() ? value : kNothing, place_of(key)};
}

void ConfigBlock::walk(const std::vector<ConfigKey>& keys) const {
  std::vector<std::string> order;
  for (const auto& [name, value] : json.items()) order.push_back(name);
  const auto line = [&](const std::string& name) {
    const auto at = reading.places.find(place_of(name));
    return at == reading.places.end() ? int64_t{0} : at->second.line;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const std::string& a, const std::string& b) { return line(a) < line(b); });
  for (const std::string& name : order) {
    if (!has(name)) continue;
    const auto known =
        std::find_if(keys.begin(), keys.end(), [&](const ConfigKey& k) { return k.name == name; });
    if (known == keys.end()) {
      std::vector<std::string> names;
      for (const ConfigKey& k : keys) names.push_back(k.name);
      const std::string near = nearest_name(name, names);
      reading.out.errors.push_back(
          Error(err::kOtherConfigKey,
                fmt::format("hone does not know {}'s key '{}'", reading.program, name))
              .at(reading.place(place_of(name)))
              .todo((near.empty() ? "" : fmt::format("did you mean {}? ", near)) +
                    "remove it, or write its effect as a flag of hone"));
    } else if (!known->act) {
      reading.without_effect.push_back(name);
    } else {
      known->act(*this, name);
    }
  }
}

bool ConfigBlock::flag(const std::string& key, bool other) const {
  if (!has(key)) return other;
  if (const auto is = bool_of(shown_value(at(key)))) return *is;
  cannot_be(key, "write true or false");
  return other;
}

double ConfigBlock::number(const std::string& key, double other) const {
  if (!has(key)) return other;
  double value = 0;
  if (assign(Field(&value), at(key))) return value;
  cannot_be(key, "write a number");
  return other;
}

std::string ConfigBlock::text(const std::string& key, const std::string& other) const {
  if (!has(key)) return other;
  if (at(key).is_string()) return at(key).get<std::string>();
  cannot_be(key, "write a text");
  return other;
}

std::vector<std::string> ConfigBlock::texts(const std::string& key) const {
  if (!has(key)) return {};
  std::vector<std::string> all;
  if (at(key).is_string()) return {at(key).get<std::string>()};
  for (const Json& one : at(key)) {
    if (!one.is_string()) {
      cannot_be(key, "write a text, or a list of texts");
      return {};
    }
    all.push_back(one.get<std::string>());
  }
  return all;
}

void ConfigBlock::set(const std::string& setting, const Json& value, const std::string& key) const {
  reading.out.entries.push_back({setting, value, reading.place(place_of(key))});
}

void ConfigBlock::set_default(const std::string& setting, const Json& value,
                              const std::string& key) const {
  reading.out.entries.push_back({setting, value,
                                 fmt::format("{}: {}'s default of {}", reading.name,
                                             reading.program, dotted_key(place_of(key)))});
}

void ConfigBlock::cannot(const std::string& what, const std::string& key,
                         const std::string& remedy) const {
  reading.out.errors.push_back(
      Error(err::kOtherConfigValue, what).at(reading.place(place_of(key))).todo(remedy));
}

void ConfigBlock::cannot_be(const std::string& key, const std::string& remedy) const {
  cannot(fmt::format("{}'s {}: {} is not supported", reading.program, dotted_key(place_of(key)),
                     shown_value(at(key))),
         key, remedy);
}

void ConfigBlock::note(const std::string& key, const std::string& text) const {
  reading.out.notices.push_back(fmt::format("{}: {}", reading.place(place_of(key)), text));
}

ConfigAct seen() {
  return [](const ConfigBlock&, const std::string&) {};
}

ConfigAct sets(const std::string& setting) {
  return
      [setting](const ConfigBlock& b, const std::string& key) { b.set(setting, b.at(key), key); };
}

ConfigAct sets_json(const std::string& setting) {
  return [setting](const ConfigBlock& b, const std::string& key) {
    b.set(setting, typed_value(b.at(key)), key);
  };
}

ConfigAct refused(const std::string& remedy) {
  return [remedy](const ConfigBlock& b, const std::string& key) {
    if (!is_off(b.at(key))) b.cannot_be(key, remedy);
  };
}

ConfigAct only(std::vector<std::string> values, const std::string& remedy) {
  return [values = std::move(values), remedy](const ConfigBlock& b, const std::string& key) {
    for (const std::string& text : b.texts(key))
      if (std::find(values.begin(), values.end(), text) == values.end())
        return b.cannot_be(key, remedy);
  };
}

}  // namespace hone
