#include "learn/harness/token_metrics.h"

#include <cmath>

namespace hone {

bool TokenCounts::add(int64_t number, std::span<const float> nll,
                      std::span<const int32_t> correct) {
  double sum = 0;
  int64_t right = 0;
  for (size_t i = 0; i < nll.size(); ++i) {
    sum += static_cast<double>(nll[i]);
    right += correct[i];
  }
  const auto labels = static_cast<int64_t>(nll.size());
  loss.add(number, sum, labels);
  accuracy.add(right, labels);
  if (examples)
    examples->add(number, {{"scores", {{"nll", sum}, {"tokens", labels}, {"correct", right}}}});
  return std::isfinite(sum);
}

bool TokenMetrics::add(const CollatedRows& rows, const Batch& outputs) {
  const auto nll = outputs.get<const float>("nll");
  const auto correct = outputs.get<const int32_t>("correct");
  bool finite = true;
  size_t at = 0;
  for (const int64_t row : rows.rows.rows) {
    const int64_t tokens = rows.data.axes.back().length(row);
    const auto labels = static_cast<size_t>(tokens - unlabelled_);
    finite = counts_.add(rows.rows.number(row) - first_, nll.subspan(at, labels),
                         correct.subspan(at, labels)) &&
             finite;
    at += static_cast<size_t>(tokens);
  }
  return finite;
}

OrderedJson TokenMetrics::values(int64_t rows) const {
  if (with_accuracy_) return token_values(counts_, rows);
  OrderedJson m;
  m["loss"] = counts_.loss.eval_loss();
  m["loss_per_token"] = counts_.loss.eval_loss_per_token();
  m["samples"] = rows;
  return m;
}

OrderedJson token_values(const TokenCounts& counts, int64_t rows) {
  OrderedJson m;
  m["accuracy"] = counts.accuracy.value();
  m["loss"] = counts.loss.eval_loss();
  m["loss_per_token"] = counts.loss.eval_loss_per_token();
  m["samples"] = rows;
  m["perplexity"] = perplexity(counts.loss.eval_loss());
  return m;
}

std::vector<std::string> token_metric_names() {
  std::vector<std::string> names;
  const OrderedJson values = token_values(TokenCounts(1), 0);
  for (const auto& [name, value] : values.items())
    if (name != "samples") names.push_back(name);
  return names;
}

}  // namespace hone
