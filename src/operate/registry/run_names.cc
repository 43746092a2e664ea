#include "operate/registry/run_names.h"

#include <algorithm>

#include "base/core/text.h"
#include "base/core/url.h"
#include "learn/tasks/tasks.h"
#include "operate/monitor/origin.h"

namespace hone {

std::vector<std::string> texts_of_setting(const OrderedJson& settings, const char* key) {
  const OrderedJson& given = value_at(settings, key);
  std::vector<std::string> texts;
  for (const OrderedJson& text : given.is_array() ? given : OrderedJson::array({given}))
    if (text.is_string() && !text.get<std::string>().empty()) texts.push_back(text);
  return texts;
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
  names = texts_of_setting(run.params, "dataset_name");
  return join(names.empty() ? texts_of_setting(run.params, "train_file") : names, " ");
}

std::string parent_of(const ModelVersion& version, const RegisteredRun& run) {
  if (version.parent.empty() || version.parent == text_at(run.record, "model"))
    return initial_model_of(run);
  return version.parent;
}

OrderedJson by_name(const std::string& folder, OrderedJson value) {
  if (value.is_array())
    for (OrderedJson& one : value) one = by_name(folder, std::move(one));
  if (!value.is_string()) return value;
  const std::string given = value.get<std::string>();
  if (given.find('/') == std::string::npos || is_url(given)) return value;
  const std::string place = given.starts_with('/') || folder.empty() ? given : folder + "/" + given;
  const std::string model = model_name_of(place), data = data_name_of(place);
  if (model != place) return model;
  return data != place ? OrderedJson(data) : value;
}

OrderedJson by_name(const RegisteredRun& run, OrderedJson value) {
  return by_name(text_at(run.record, "folder"), std::move(value));
}

std::set<std::string> output_settings(const std::string& name) {
  std::set<std::string> found;
  for (const Task& task : all_task()) {
    if (task.name != name) continue;
    const Schema schema = described(task);
    for (const Setting& setting : schema.all())
      if (setting.decides.empty()) found.insert(setting.name);
  }
  return found;
}

}  // namespace hone
