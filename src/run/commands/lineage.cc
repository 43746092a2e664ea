#include "run/commands/lineage.h"

#include <algorithm>

#include "base/core/text.h"
#include "operate/monitor/origin.h"
#include "operate/registry/compare_versions.h"

namespace hone {
namespace {

// The texts of a setting, which is one or a list.
std::vector<std::string> texts_of(const OrderedJson& settings, const char* key) {
  const OrderedJson& given = value_at(settings, key);
  std::vector<std::string> texts;
  for (const OrderedJson& text : given.is_array() ? given : OrderedJson::array({given}))
    if (text.is_string() && !text.get<std::string>().empty()) texts.push_back(text);
  return texts;
}

}  // namespace

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
  names = texts_of(run.params, "dataset_name");
  return join(names.empty() ? texts_of(run.params, "train_file") : names, " ");
}

OrderedJson results_of(const RunRow& row) {
  OrderedJson all = row.metrics.is_object() ? row.metrics : OrderedJson::object();
  if (const OrderedJson& results = value_at(row.end, "results"); results.is_object())
    all.update(results);
  return all;
}

OrderedJson evaluated_by(const RunRow& row) {
  const OrderedJson& settings = value_at(row.run, "settings");
  OrderedJson names = OrderedJson::array();
  for (const char* key :
       {"dataset_name", evaluates_own_files(settings) ? "validation_file" : "train_file"})
    for (const std::string& file : texts_of(settings, key)) names.push_back(data_name_of(file));
  return evaluated_by(settings, results_of(row), std::move(names));
}

}  // namespace hone
