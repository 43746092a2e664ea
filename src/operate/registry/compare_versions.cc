#include "operate/registry/compare_versions.h"

#include "operate/registry/registry_json.h"

namespace hone {
namespace {

OrderedJson value_of(const OrderedJson& object, const std::string& key) {
  const auto it = object.find(key);
  return it == object.end() ? OrderedJson() : *it;
}

std::string value_text(const OrderedJson& object, const std::string& key) {
  const auto it = object.find(key);
  return it == object.end() ? "" : dump_json(*it);
}

// Keys of both, those of `a` first.
std::vector<std::string> keys_of_both(const OrderedJson& a, const OrderedJson& b) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : a.items()) keys.push_back(key);
  for (const auto& [key, value] : b.items())
    if (!a.contains(key)) keys.push_back(key);
  return keys;
}

void add_differing(VersionDifference& d, const std::string& what, const std::string& a,
                   const std::string& b) {
  if (a != b) d.lines.push_back({what, a, b, ""});
}

void compare_metrics(VersionDifference& d) {
  for (const std::string& key : keys_of_both(d.a.metrics, d.b.metrics)) {
    const OrderedJson x = value_of(d.a.metrics, key), y = value_of(d.b.metrics, key);
    const bool both = x.is_number() && y.is_number();
    const double difference = both ? y.get<double>() - x.get<double>() : 0;
    d.metrics[key] = OrderedJson::array({x, y, both ? OrderedJson(difference) : OrderedJson()});
    d.lines.push_back({key, value_text(d.a.metrics, key), value_text(d.b.metrics, key),
                       both ? fmt::format("{:+.4g}", difference) : ""});
  }
}

Status compare_settings(Registry& registry, VersionDifference& d) {
  if (d.a.run_id.empty() || d.b.run_id.empty()) return Ok{};
  const RegisteredRun x = HONE_TRY(registry.run(d.a.run_id)),
                      y = HONE_TRY(registry.run(d.b.run_id));
  for (const std::string& key : keys_of_both(x.params, y.params)) {
    const std::string a = value_text(x.params, key), b = value_text(y.params, key);
    if (a == b) continue;
    d.settings[key] = OrderedJson::array({value_of(x.params, key), value_of(y.params, key)});
    add_differing(d, "--" + key, a, b);
  }
  return Ok{};
}

}  // namespace

Result<VersionDifference> compare_versions(Registry& registry, const ModelVersion& a,
                                           const ModelVersion& b) {
  VersionDifference d;
  d.a = a;
  d.b = b;
  add_differing(d, "hash", a.hash, b.hash);
  add_differing(d, "data", a.data_hash, b.data_hash);
  add_differing(d, "parent", a.parent, b.parent);
  compare_metrics(d);
  HONE_TRY(compare_settings(registry, d));
  return d;
}

OrderedJson VersionDifference::json() const {
  return {{"a", version_json(a)},
          {"b", version_json(b)},
          {"same_files", a.hash == b.hash},
          {"same_data", a.data_hash == b.data_hash && !a.data_hash.empty()},
          {"metrics", metrics},
          {"settings", settings}};
}

}  // namespace hone
