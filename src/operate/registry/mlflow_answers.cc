// Parses the answers of an MLflow server.
#include <algorithm>
#include <charconv>

#include "base/core/clock.h"
#include "operate/registry/mlflow_registry.h"

namespace hone {
namespace {

// [{"key": "a", "value": "b"}, ...]
std::map<std::string, std::string> pairs_of(const Json& list, const char* key = "key",
                                            const char* value = "value") {
  std::map<std::string, std::string> pairs;
  if (list.is_array())
    for (const Json& pair : list)
      if (const std::string name = text_at(pair, key); !name.empty())
        pairs[name] = text_at(pair, value);
  return pairs;
}

std::string time_of(const Json& milliseconds) {
  constexpr double kMost = 1e14;  // thousands of years from now
  const double ms = milliseconds.is_number() ? milliseconds.get<double>() : -1;
  return ms >= 0 && ms < kMost ? format_utc(ms / 1000, 3) : "";
}

}  // namespace

std::vector<MlflowModel> mlflow_models(const Json& answer) {
  std::vector<MlflowModel> all;
  const Json& list = value_at(answer, "registered_models");
  if (list.is_array())
    for (const Json& m : list)
      if (const std::string name = text_at(m, "name"); !name.empty())
        all.push_back({name, text_at(m, "description"), pairs_of(value_at(m, "tags")),
                       pairs_of(value_at(m, "aliases"), "alias", "version")});
  return all;
}

std::vector<MlflowVersion> mlflow_versions(const Json& answer) {
  std::vector<MlflowVersion> all;
  const Json& list = value_at(answer, "model_versions");
  if (list.is_array())
    for (const Json& v : list)
      if (const std::string number = text_at(v, "version"); !number.empty())
        all.push_back(
            {number, text_at(v, "source"), text_at(v, "run_id"), pairs_of(value_at(v, "tags"))});
  std::stable_sort(all.begin(), all.end(), [](const MlflowVersion& a, const MlflowVersion& b) {
    return a.number.size() != b.number.size() ? a.number.size() < b.number.size()
                                              : a.number < b.number;
  });
  return all;
}

RegisteredRun mlflow_run(const Json& answer) {
  const Json &run = value_at(answer, "run"), &info = value_at(run, "info"),
             &data = value_at(run, "data");
  RegisteredRun r;
  r.id = text_at(info, "run_id");
  r.name = text_at(info, "run_name");
  r.status = text_at(info, "status") == "FINISHED" ? "finished" : "failed";
  r.started = time_of(value_at(info, "start_time"));
  r.ended = time_of(value_at(info, "end_time"));
  for (const auto& [key, text] : pairs_of(value_at(data, "params"))) {
    Result<OrderedJson> value =
        parse_ordered_json(text, "a parameter");  // a number, a list; else a text
    r.params[key] = value.ok() ? std::move(*value) : OrderedJson(text);
  }
  const Json& metrics = value_at(data, "metrics");
  if (metrics.is_array())
    for (const Json& m : metrics)
      if (const Json& value = value_at(m, "value"); value.is_number() && !text_at(m, "key").empty())
        r.metrics[text_at(m, "key")] = value.get<double>();
  const std::map<std::string, std::string> tags = pairs_of(value_at(data, "tags"));
  if (const auto it = tags.find("hone.run"); it != tags.end())
    if (const auto told = parse_ordered_json(it->second, "hone.run");
        told.ok() && told->is_object()) {
      r.id = text_at(*told, "id");
      r.task = text_at(*told, "task");
      r.status = text_at(*told, "status");
      r.started = text_at(*told, "started");
      r.ended = text_at(*told, "ended");
      r.data_hash = text_at(*told, "data_hash");
      r.model_hash = text_at(*told, "model_hash");
      if (const auto record = told->find("record"); record != told->end() && record->is_object())
        r.record = *record;
    }
  return r;
}

}  // namespace hone
