// Computes losses, perplexity and accuracy from counts and sums in double precision. Rows may be added in any order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone {

// eval_loss is computed as in Trainer.evaluation_loop (Transformers 5.23). A batch is `batch_rows` consecutive rows.
// Its loss is the mean over its label tokens. eval_loss is the mean of the batches' losses, each weighted by the
// batch's number of rows. If any batch has a finite loss, batches whose loss is not finite are skipped.
// eval_loss_per_token is the mean over all label tokens. Memory: 24 bytes for each batch.
class EvalLoss {
 public:
  explicit EvalLoss(int64_t batch_rows) : batch_rows_(batch_rows) {}
  // Adds row number `row` of the evaluation set, from 0. nll_sum: the sum of the negative log likelihoods of its label
  // tokens, in nats. label_tokens: their number.
  void add(int64_t row, double nll_sum, int64_t label_tokens);
  void merge(const EvalLoss& other);  // adds the rows that another worker has evaluated

  int64_t rows() const { return rows_; }
  int64_t label_tokens() const { return label_tokens_; }
  double eval_loss() const;            // NaN without rows
  double eval_loss_per_token() const;  // NaN without label tokens

 private:
  struct Batch {
    double nll = 0;
    int64_t label_tokens = 0, rows = 0;
  };
  int64_t batch_rows_;
  std::vector<Batch> batches_;
  double nll_ = 0;
  int64_t rows_ = 0, label_tokens_ = 0;
};

// The cross entropy in nats with label smoothing, as Transformers' LabelSmoother: (1 - smoothing) * nll[label] +
// smoothing * mean(nll), where nll = -log softmax(logits) and the mean is over all classes.
double cross_entropy(std::span<const float> logits, size_t label, double smoothing);
// The index of the largest logit; the first one of equal logits.
int64_t predicted_class(std::span<const float> logits);

// exp(loss); infinity if that overflows, as in run_clm.
double perplexity(double loss);

// The share of right answers. In run_clm's accuracy an answer is a label token; it is right if the label has the
// largest logit.
struct Accuracy {
  int64_t correct = 0, total = 0;
  // Adds `of` answers, of which `right` are right.
  void add(int64_t right, int64_t of) {
    correct += right;
    total += of;
  }
  double value() const;  // NaN without answers
};

// The training loss: its mean over the steps since the last log line, and over the whole run.
class TrainLoss {
 public:
  void add(double step_loss) {
    sum_ += step_loss;
    ++steps_;
    total_ += step_loss;
    ++total_steps_;
  }
  // The loss to add for a step without labels: the sum since the last log, divided by the number of
  // steps since then plus this one. Transformers 5.23 does this for a loss that is not finite
  // (--logging_nan_inf_filter).
  double loss_without_labels() const { return sum_ / static_cast<double>(1 + steps_); }
  // The mean over the steps since the last call, NaN if there were none. The next call starts again from here.
  double take_mean();
  double run_mean() const;  // over the whole run: train_loss in train_results.json
  // The values that a checkpoint saves and restores.
  struct State {
    double sum = 0, total = 0;
    int64_t steps = 0, total_steps = 0;
  };
  State state() const { return {sum_, total_, steps_, total_steps_}; }
  void restore(const State& s) {
    sum_ = s.sum;
    total_ = s.total;
    steps_ = s.steps;
    total_steps_ = s.total_steps;
  }

 private:
  double sum_ = 0, total_ = 0;
  int64_t steps_ = 0, total_steps_ = 0;
};

}  // namespace hone
