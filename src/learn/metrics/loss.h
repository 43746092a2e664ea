// Sums for losses, perplexity and accuracy: exact counts and double sums, in any order of rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone {

// eval_loss as in Trainer.evaluation_loop (Transformers 5.23): the loss of each batch of
// `batch_rows` consecutive rows is the mean over its label tokens; eval_loss is the mean of
// these, weighted by the number of rows. Batches whose loss is not finite are left out if any is
// finite. eval_loss_per_token is the mean over all label tokens.
// Memory: 24 bytes a batch.
class EvalLoss {
 public:
  explicit EvalLoss(int64_t batch_rows) : batch_rows_(batch_rows) {}
  // Row `row` of the evaluation set: its summed negative log likelihood (nats) and label tokens.
  void add(int64_t row, double nll_sum, int64_t label_tokens);
  void merge(const EvalLoss& other);  // rows that another worker saw

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

// -log softmax(logits)[label] in nats, smoothed as in Transformers' LabelSmoother: with weight
// `smoothing` the mean over all classes.
double cross_entropy(std::span<const float> logits, size_t label, double smoothing);
// Index of the largest; the first of equal ones.
int64_t predicted_class(std::span<const float> logits);

// exp(loss); infinity where that overflows (run_clm).
double perplexity(double loss);

// Share of right answers. run_clm's accuracy counts label tokens that are the argmax of their logits.
struct Accuracy {
  int64_t correct = 0, total = 0;
  void add(int64_t right, int64_t of) {
    correct += right;
    total += of;
  }
  double value() const;  // NaN without answers
};

// The training loss of the log: mean of the steps' losses since the last log, and over the run.
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
  double take_mean();       // since the last call; NaN when no step was added
  double run_mean() const;  // train_loss of train_results.json
  // To save and restore with a checkpoint.
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
