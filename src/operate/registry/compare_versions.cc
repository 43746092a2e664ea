#include "operate/registry/compare_versions.h"

#include "operate/registry/registry_json.h"

namespace hone {
namespace {

OrderedJson value_of(const OrderedJson& object, const std::string& key) {
  const auto it = object.find(key);
  return it == object.end() ? OrderedJson() : *it;
}

// Keys of both, those of `a` first.
std::vector<std::string> keys_of_both(const OrderedJson& a, const OrderedJson& b) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : a.items()) keys.push_back(key);
  for (const auto& [key, value] : b.items())
    if (!a.contains(key)) keys.push_back(key);
  return keys;
}

void compare_metrics(VersionDifference& d) {
  for (const std::string& key : keys_of_both(d.a.metrics, d.b.metrics)) {
    const OrderedJson x = value_of(d.a.metrics, key), y = value_of(d.b.metrics, key);
    const bool both = x.is_number() && y.is_number();
    const double difference = both ? y.get<double>() - x.get<double>() : 0;
    d.metrics[key] = OrderedJson::array({x, y, both ? OrderedJson(difference) : OrderedJson()});
  }
}

Status compare_settings(Registry& registry, VersionDifference& d) {
  if (d.a.run_id.empty() || d.b.run_id.empty()) return Ok{};
  const RegisteredRun x = HONE_TRY(registry.run(d.a.run_id)),
                      y = HONE_TRY(registry.run(d.b.run_id));
  for (const std::string& key : keys_of_both(x.params, y.params)) {
    const OrderedJson a = value_of(x.params, key), b = value_of(y.params, key);
    if (a != b) d.settings[key] = OrderedJson::array({a, b});
  }
  return Ok{};
}

}  // namespace

Result<VersionDifference> compare_versions(Registry& registry, const ModelVersion& a,
                                           const ModelVersion& b) {
  VersionDifference d;
  d.a = a;
  d.b = b;
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
