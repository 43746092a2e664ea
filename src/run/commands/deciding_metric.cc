#include "run/commands/deciding_metric.h"

#include <algorithm>
#include <cmath>

#include "learn/tasks/tasks.h"
#include "operate/registry/policy.h"

namespace hone {
namespace {

constexpr const char* kLossOfTokens = "eval_loss_per_token";

std::string metric_of_task(const std::string& name) {
  for (const Task& task : all_task())
    if (task.name == name) return task.metric;
  return "";
}

std::optional<double> value_in(const MeasuredRow& row, const std::string& name) {
  if (row.metric && row.metric->name == name) return row.metric->value;
  const OrderedJson& value = value_at(row.metrics, name.c_str());
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

// Whether all values of a metric are of the same rows. Training measures its own, whatever is evaluated.
bool measured_alike(const std::vector<MeasuredRow>& rows, const std::string& name) {
  const OrderedJson* first = nullptr;
  for (const MeasuredRow& row : rows) {
    if (name.starts_with("train_") || !value_in(row, name)) continue;
    if (first == nullptr) first = &row.evaluated;
    if (*first != row.evaluated) return false;
  }
  return true;
}

}  // namespace

std::optional<DecidingMetric> deciding_metric(const OrderedJson& metrics, const std::string& task,
                                              const OrderedJson& settings,
                                              const std::string& wanted) {
  if (!metrics.is_object()) return std::nullopt;
  for (const std::string& name :
       {bare_metric(wanted), bare_metric(text_at(settings, "metric_for_best_model")),
        metric_of_task(task), std::string("loss"), std::string("train_loss")}) {
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

MetricColumns metric_columns(const std::vector<MeasuredRow>& rows) {
  std::vector<std::pair<std::string, int>> names;  // with their number of rows
  for (const MeasuredRow& row : rows) {
    const auto& m = row.metric;
    if (!m) continue;
    const auto known = std::find_if(names.begin(), names.end(),
                                    [&](const auto& name) { return name.first == m->name; });
    if (known == names.end())
      names.emplace_back(m->name, 1);
    else
      ++known->second;
  }
  std::stable_sort(names.begin(), names.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  MetricColumns out;
  constexpr size_t kMostColumns = 2;  // more leave no room for anything else
  if (names.size() > kMostColumns) {
    out.columns.push_back({.name = "metric"});
    for (const MeasuredRow& row : rows)
      out.cells.push_back(
          {row.metric ? fmt::format("{} {}", row.metric->name, metric_text(row.metric->value))
                      : ""});
    return out;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const bool lower = lower_is_better(bare_metric(names[i].first)),
               alike = measured_alike(rows, names[i].first);
    if (!alike)
      out.note = fmt::format(
          "{:<11} no best value has a mark: the runs were evaluated on different rows", "best");
    const Column::Best best = lower ? Column::kSmallest : Column::kLargest;
    out.columns.push_back({.name = names[i].first,
                           .kind = Column::kNumber,
                           .priority = static_cast<int>(std::min<size_t>(i, 5)),
                           .best = alike ? best : Column::kNone});
  }
  for (const MeasuredRow& row : rows) {
    out.cells.emplace_back(names.size());
    for (size_t i = 0; i < names.size(); ++i)
      if (const auto value = value_in(row, names[i].first))
        out.cells.back()[i] = metric_text(*value);
  }
  return out;
}

std::string metric_text(double value) {
  constexpr double kNoDigitsFrom = 1e5, kNoDigitsTo = 1e15;
  const double size = std::abs(value);
  return size >= kNoDigitsFrom && size < kNoDigitsTo ? fmt::format("{:.0f}", value)
                                                     : fmt::format("{:.5g}", value);
}

}  // namespace hone
