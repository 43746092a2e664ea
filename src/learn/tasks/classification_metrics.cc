#include "learn/tasks/classification_metrics.h"

#include <algorithm>
#include <cmath>

namespace hone {
namespace {

void add_once(const std::string& name, std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

void add_of_shelf(MetricInput input, std::vector<std::string>& names) {
  for (const MetricType& type : all_metric())
    if (type.input == input) add_once(type.name, names);
}

}  // namespace

std::vector<std::string> classification_metrics() {
  std::vector<std::string> names{""};
  add_of_shelf(MetricInput::kLabel, names);
  add_of_shelf(MetricInput::kNumber, names);
  return names;
}

std::vector<std::string> row_metrics_of_classification(std::optional<LabelKind> kind) {
  std::vector<std::string> names{"loss"};
  if (!kind || *kind == LabelKind::kClass) add_of_shelf(MetricInput::kLabel, names);
  if (!kind || *kind == LabelKind::kNumber)
    add_once("mse", names), add_of_shelf(MetricInput::kNumber, names);
  if (!kind || *kind == LabelKind::kMany) add_once("exact_match", names), add_once("f1", names);
  return names;
}

double many_names_loss(std::span<const float> logits, std::span<const int32_t> classes) {
  double loss = 0;
  for (size_t c = 0; c < logits.size(); ++c) {
    const auto x = static_cast<double>(logits[c]);
    const bool wanted = std::binary_search(classes.begin(), classes.end(), static_cast<int32_t>(c));
    loss += std::max(x, 0.0) - (wanted ? x : 0.0) + std::log1p(std::exp(-std::abs(x)));
  }
  return loss / static_cast<double>(logits.size());
}

ClassificationMetrics::ClassificationMetrics(const Kind& kind, int64_t batch_rows,
                                             double label_smoothing)
    : loss_(batch_rows), many_(kind.many), smoothing_(label_smoothing) {
  if (many_) return;
  std::vector<std::string> names = glue_metrics(kind.task);
  if (names.empty() && !kind.regression) names = {"accuracy"};
  if (!kind.metric.empty()) names = {kind.metric};
  with_mse_ = names.empty();
  for (const std::string& name : names) {
    auto metric = make_metric(name, {.average = kind.labels > 2 ? "macro" : "binary"});
    HONE_BUG_IF(!metric.ok(), "{}", metric.error().text());  // names of the shelf
    metrics_.push_back(std::move(*metric));
  }
}

void ClassificationMetrics::add(int64_t row, std::span<const float> logits, int64_t label) {
  loss_.add(row, cross_entropy(logits, static_cast<size_t>(label), smoothing_), 1);
  for (const auto& metric : metrics_) metric->add_label(predicted_class(logits), label);
  ++rows_;
}

void ClassificationMetrics::add(int64_t row, float logit, float value) {
  const double off = static_cast<double>(logit) - static_cast<double>(value);
  loss_.add(row, off * off, 1);
  squares_ += off * off;
  for (const auto& metric : metrics_)
    metric->add_number(static_cast<double>(logit), static_cast<double>(value));
  ++rows_;
}

void ClassificationMetrics::add(int64_t row, std::span<const float> logits,
                                std::span<const int32_t> classes) {
  for (size_t c = 0; c < logits.size(); ++c) {
    const bool wanted = std::binary_search(classes.begin(), classes.end(), static_cast<int32_t>(c));
    predicted_ += logits[c] > 0, expected_ += wanted, hits_ += logits[c] > 0 && wanted;
  }
  loss_.add(row, many_names_loss(logits, classes), 1);
  ++rows_;
}

OrderedJson ClassificationMetrics::values(const std::string& suffix) const {
  OrderedJson out;
  double sum = 0;
  int64_t count = 0;
  const auto put = [&](const std::string& name, double value) {
    out[name + suffix] = value;
    sum += value;
    ++count;
  };
  for (const auto& metric : metrics_) {
    const auto values = metric->values();
    HONE_BUG_IF(!values.ok(), "{}", values.error().text());
    for (const MetricValue& v : *values) put(v.name, v.value);
  }
  if (many_) {
    const auto below = static_cast<double>(predicted_ + expected_);
    put("f1", below == 0 ? 0 : 2 * static_cast<double>(hits_) / below);
  }
  if (with_mse_) put("mse", squares_ / static_cast<double>(rows_));
  if (count > 1) out["combined_score" + suffix] = sum / static_cast<double>(count);
  out["loss" + suffix] = loss_.eval_loss();
  return out;
}

}  // namespace hone
