#include "learn/metrics/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/core/error.h"

namespace hone {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

void EvalLoss::add(int64_t row, double nll_sum, int64_t label_tokens) {
  HONE_BUG_IF(row < 0 || batch_rows_ < 1, "row {} in batches of {}", row, batch_rows_);
  const auto b = static_cast<size_t>(row / batch_rows_);
  if (b >= batches_.size()) batches_.resize(b + 1);
  batches_[b].nll += nll_sum;
  batches_[b].label_tokens += label_tokens;
  ++batches_[b].rows;
  nll_ += nll_sum;
  label_tokens_ += label_tokens;
  ++rows_;
}

void EvalLoss::merge(const EvalLoss& other) {
  HONE_BUG_IF(other.batch_rows_ != batch_rows_, "batches of {} and {}", batch_rows_,
              other.batch_rows_);
  if (other.batches_.size() > batches_.size()) batches_.resize(other.batches_.size());
  for (size_t b = 0; b < other.batches_.size(); ++b) {
    batches_[b].nll += other.batches_[b].nll;
    batches_[b].label_tokens += other.batches_[b].label_tokens;
    batches_[b].rows += other.batches_[b].rows;
  }
  nll_ += other.nll_;
  label_tokens_ += other.label_tokens_;
  rows_ += other.rows_;
}

double EvalLoss::eval_loss() const {
  double finite = 0, all = 0;
  int64_t finite_rows = 0, all_rows = 0;
  for (const Batch& b : batches_) {
    if (b.rows == 0) continue;
    const double loss = b.nll / static_cast<double>(b.label_tokens);
    all += loss * static_cast<double>(b.rows);
    all_rows += b.rows;
    if (!std::isfinite(loss)) continue;
    finite += loss * static_cast<double>(b.rows);
    finite_rows += b.rows;
  }
  if (all_rows == 0) return kNan;
  return finite_rows > 0 ? finite / static_cast<double>(finite_rows)
                         : all / static_cast<double>(all_rows);
}

double EvalLoss::eval_loss_per_token() const {
  return label_tokens_ == 0 ? kNan : nll_ / static_cast<double>(label_tokens_);
}

double perplexity(double loss) { return std::exp(loss); }

double Accuracy::value() const {
  return total == 0 ? kNan : static_cast<double>(correct) / static_cast<double>(total);
}

double TrainLoss::take_mean() {
  const double mean = steps_ == 0 ? kNan : sum_ / static_cast<double>(steps_);
  sum_ = 0;
  steps_ = 0;
  return mean;
}

double TrainLoss::run_mean() const {
  return total_steps_ == 0 ? kNan : total_ / static_cast<double>(total_steps_);
}

double cross_entropy(std::span<const float> logits, size_t label, double smoothing) {
  const double top = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0, mean = 0;
  for (const float x : logits) {
    sum += std::exp(static_cast<double>(x) - top);
    mean += static_cast<double>(x) / static_cast<double>(logits.size());
  }
  const double norm = top + std::log(sum);  // of exp(logits)
  const double nll = norm - static_cast<double>(logits[label]);
  return (1 - smoothing) * nll + smoothing * (norm - mean);
}

int64_t predicted_class(std::span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

}  // namespace hone
