#include "operate/registry/deciding_metric.h"

#include <map>

#include "learn/tasks/tasks.h"
#include "operate/registry/policy.h"

namespace hone {
namespace {

constexpr const char* kLossOfTokens = "eval_loss_per_token";

// The usual metric of a task, the loss, and the others of the task: its rows may be of a kind without the usual one.
const std::vector<std::string>& metrics_of_task(const std::string& name) {
  static const std::map<std::string, std::vector<std::string>> metrics = [] {
    std::map<std::string, std::vector<std::string>> all;
    for (const Task& task : all_task()) {
      std::vector<std::string>& own = all[task.name] = {task.metric, "loss"};
      for (std::string& other : task.metrics()) own.push_back(std::move(other));
    }
    return all;
  }();
  static const std::vector<std::string> of_unknown = {"loss"};
  const auto found = metrics.find(name);
  return found == metrics.end() ? of_unknown : found->second;
}

}  // namespace

std::optional<DecidingMetric> deciding_metric(const OrderedJson& metrics, const std::string& task,
                                              const OrderedJson& settings,
                                              const std::string& wanted) {
  if (!metrics.is_object()) return std::nullopt;
  std::vector<std::string> names = {bare_metric(wanted),
                                    bare_metric(text_at(settings, "metric_for_best_model"))};
  const std::vector<std::string>& own = metrics_of_task(task);
  names.insert(names.end(), own.begin(), own.end());
  names.push_back("train_loss");
  for (const std::string& name : names) {
    if (name.empty()) continue;
    // Decisions compute the loss of a token from the rows; `eval_loss` may be a mean of batches.
    if (const OrderedJson& value = value_at(metrics, kLossOfTokens);
        name == "loss" && value.is_number())
      return DecidingMetric{kLossOfTokens, value.get<double>()};
    for (const std::string& key : {"eval_" + name, name, "predict_" + name})
      if (const OrderedJson& value = value_at(metrics, key.c_str());
          value.is_number() && key != "loss")  // of a step of training
        return DecidingMetric{key, value.get<double>()};
  }
  return std::nullopt;
}

std::optional<DecidingMetric> metric_of_run(const RunRow& row) {
  auto metric =
      deciding_metric(results_of(row), text_at(row.run, "task"), value_at(row.run, "settings"));
  return metric && metric->name == "train_loss" ? std::nullopt : metric;
}

OrderedJson metric_json(const std::optional<DecidingMetric>& metric) {
  return metric ? OrderedJson{{"name", metric->name}, {"value", metric->value}} : OrderedJson();
}

std::string decided_by(const std::vector<Decision>& newest_first) {
  for (const Decision& d : newest_first)
    if (std::string metric = text_at(d.evidence, "metric"); !metric.empty()) return metric;
  return "";
}

OrderedJson metrics_with_decisions(const ModelVersion& version,
                                   const std::vector<Decision>& newest_first) {
  OrderedJson all = version.metrics.is_object() ? version.metrics : OrderedJson::object();
  for (const Decision& d : newest_first) {
    const std::string metric = bare_metric(text_at(d.evidence, "metric"));
    if (d.version != version.number || metric.empty()) continue;
    if (all.contains(metric) || all.contains("eval_" + metric)) continue;
    const OrderedJson &alone = value_at(d.evidence, "value"),
                      &compared = value_at(d.evidence, "comparison");
    const OrderedJson& of_pair = compared.is_object() ? value_at(compared, "version") : alone;
    for (const OrderedJson* value : {&of_pair, &alone})
      if (value->is_number()) all["eval_" + metric] = *value;
  }
  return all;
}

}  // namespace hone
