// Loss, accuracy and perplexity of tasks that predict tokens, with the names of Transformers' example scripts run_clm
// and run_mlm.
#pragma once

#include "learn/harness/example_scores.h"
#include "learn/harness/examples.h"
#include "learn/harness/settings.h"
#include "learn/metrics/loss.h"

namespace hone {

// Sums over the labels of an evaluation. nll: negative log-likelihood.
struct TokenCounts {
  // `batch_rows`: rows of an evaluation batch (per_device_eval_batch_size). `examples`: receives for each row the sum
  // of nll, the number of labels ("tokens") and the number of predicted labels ("correct"). Null: they are not needed.
  explicit TokenCounts(int64_t batch_rows, ExampleScores* examples = nullptr)
      : loss(batch_rows), examples(examples) {}
  EvalLoss loss;
  Accuracy accuracy;
  ExampleScores* examples;
  // Adds row `number` of the evaluation, counted from 0. `nll`, `correct`: a value for each label of the row; correct
  // is 1 if the label was predicted, else 0. Returns false if the sum of nll is not finite.
  bool add(int64_t number, std::span<const float> nll, std::span<const int32_t> correct);
};

// The metrics of programs with the outputs nll f32[T] and correct i32[T]. T is the number of tokens of a micro-batch,
// counted on the last axis of Examples::eval. The last `unlabelled` tokens of each row have no label. `first`: index of
// the first row to evaluate. `with_accuracy` false: the metrics accuracy and perplexity are left out.
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
  bool with_accuracy_;  // false: without accuracy and perplexity
};

// The metrics "accuracy", "loss", "loss_per_token", "samples" (`rows`) and "perplexity".
OrderedJson token_values(const TokenCounts& counts, int64_t rows);
// The names of these metrics except "samples".
std::vector<std::string> token_metric_names();

}  // namespace hone
