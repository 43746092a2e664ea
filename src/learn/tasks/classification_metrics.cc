#include "learn/tasks/classification_metrics.h"

namespace hone {

ClassificationMetrics::ClassificationMetrics(const std::string& task, bool regression,
                                             int64_t batch_rows, double label_smoothing)
    : loss_(batch_rows), smoothing_(label_smoothing) {
  std::vector<std::string> names = glue_metrics(task);
  if (names.empty() && !regression) names = {"accuracy"};
  with_mse_ = names.empty();
  for (const std::string& name : names) {
    auto metric = make_metric(name);
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
  if (with_mse_) put("mse", squares_ / static_cast<double>(rows_));
  if (count > 1) out["combined_score" + suffix] = sum / static_cast<double>(count);
  out["loss" + suffix] = loss_.eval_loss();
  return out;
}

}  // namespace hone
