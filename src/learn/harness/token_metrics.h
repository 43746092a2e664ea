// Loss, accuracy and perplexity of tasks that predict tokens, with the names of run_clm and
// run_mlm.
#pragma once

#include "learn/harness/example_scores.h"
#include "learn/harness/examples.h"
#include "learn/harness/settings.h"
#include "learn/metrics/loss.h"

namespace hone {

struct TokenCounts {
  // `examples`, if not null, receives the sums of each row: nll, tokens and correct.
  explicit TokenCounts(int64_t batch_rows, ExampleScores* examples = nullptr)
      : loss(batch_rows), examples(examples) {}
  EvalLoss loss;
  Accuracy accuracy;
  ExampleScores* examples;
  // Adds the row with this number: nll of its labels and whether they were predicted. False: not
  // finite.
  bool add(int64_t number, std::span<const float> nll, std::span<const int32_t> correct);
};

// For programs with outputs nll f32[T] and correct i32[T] of packed rows, in which the last
// `unlabelled` tokens of each row have no label. Rows are those of the last axis.
class TokenMetrics : public EvalMetrics {
 public:
  TokenMetrics(const TaskSettings& s, int64_t first, int64_t unlabelled, bool with_accuracy = true)
      : counts_(s.per_device_eval_batch_size, s.example_scores.get()),
        first_(first),
        unlabelled_(unlabelled),
        with_accuracy_(with_accuracy) {}
  bool add(const CollatedRows& rows, const Batch& outputs) override;
  double loss() const override { return counts_.loss.eval_loss_per_token(); }
  OrderedJson values(int64_t rows) const override;

 private:
  TokenCounts counts_;
  int64_t first_, unlabelled_;
  bool with_accuracy_;  // and perplexity
};

// "accuracy", "loss", "loss_per_token", "samples", "perplexity".
OrderedJson token_values(const TokenCounts& counts, int64_t rows);
// These names without the number of samples.
std::vector<std::string> token_metric_names();

}  // namespace hone
