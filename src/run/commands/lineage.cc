#include "run/commands/lineage.h"

#include <algorithm>

#include "base/core/text.h"
#include "operate/monitor/origin.h"
#include "operate/registry/compare_versions.h"

namespace hone {

std::string learning_rate_of(const OrderedJson& settings) {
  const OrderedJson& rate = value_at(settings, "learning_rate");
  return rate.is_number() ? fmt::format("{:.6g}", rate.get<double>()) : "";
}

std::string initial_model_of(const RegisteredRun& run) {
  const std::string name = text_at(run.record, "model_name");
  return name.empty() ? model_name_of(text_at(run.record, "model")) : name;
}

std::string data_of(const RegisteredRun& run) {
  std::vector<std::string> names;
  for (const OrderedJson& file : value_at(run.record, "data")) {
    std::string name = text_at(file, "name");
    if (name.empty()) name = text_at(file, "file");
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  }
  if (!names.empty()) return join(names, " ");
  for (const char* key : {"dataset_name", "train_file"}) {
    const OrderedJson& given = value_at(run.params, key);
    for (const OrderedJson& name : given.is_array() ? given : OrderedJson::array({given}))
      if (name.is_string() && !name.get<std::string>().empty()) names.push_back(name);
    if (!names.empty()) break;
  }
  return join(names, " ");
}

OrderedJson results_of(const RunRow& row) {
  OrderedJson all = row.metrics.is_object() ? row.metrics : OrderedJson::object();
  if (const OrderedJson& results = value_at(row.end, "results"); results.is_object())
    all.update(results);
  return all;
}

OrderedJson evaluated_by(const RunRow& row) {
  const OrderedJson& settings = value_at(row.run, "settings");
  return evaluated_by(settings, results_of(row), [&](bool has_own) {
    OrderedJson names = OrderedJson::array();
    for (const char* key : {"dataset_name", has_own ? "validation_file" : "train_file"}) {
      const OrderedJson& given = value_at(settings, key);
      for (const OrderedJson& name : given.is_array() ? given : OrderedJson::array({given}))
        if (name.is_string()) names.push_back(data_name_of(name.get<std::string>()));
    }
    return names;
  });
}

}  // namespace hone
