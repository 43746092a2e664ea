// Metrics of a classifier's evaluation, with run_glue's names: the metrics of the GLUE task, or
// accuracy, or mse of a regression; the mean of several as combined_score.
#pragma once

#include <memory>
#include <optional>

#include "learn/metrics/loss.h"
#include "learn/metrics/metric.h"

namespace hone {

// Values of --metric_name: "", the usual ones, and the metrics of labels and of numbers.
std::vector<std::string> classification_metrics();

// The label of a row: one of the classes, a number, or any number of classes.
enum class LabelKind { kClass, kNumber, kMany };
// The metrics that evaluated rows give, by which models can be compared; of all kinds if none is named.
std::vector<std::string> row_metrics_of_classification(std::optional<LabelKind> kind = {});

// The mean binary cross entropy of a row's logits; classes ascending.
double many_names_loss(std::span<const float> logits, std::span<const int32_t> classes);

class ClassificationMetrics {
 public:
  struct Kind {
    std::string task = "";    // of GLUE, or ""
    std::string metric = "";  // of the shelf, or "": the usual ones
    bool regression = false, many = false;
    int64_t labels = 2;
  };
  ClassificationMetrics(const Kind& kind, int64_t batch_rows, double label_smoothing);

  // Adds row `row` of the evaluation set with its logits: of each class, or the value alone. The
  // loss is Transformers': cross entropy (with LabelSmoother's smoothing), or the squared error.
  void add(int64_t row, std::span<const float> logits, int64_t label);
  void add(int64_t row, float logit, float value);
  // The classes of a row that has any number of them, ascending. The loss is the mean binary cross
  // entropy, and a class is predicted if its logit is positive.
  void add(int64_t row, std::span<const float> logits, std::span<const int32_t> classes);

  int64_t rows() const { return rows_; }
  double loss() const { return loss_.eval_loss(); }
  // "accuracy", ..., "combined_score", "loss", each with `suffix`.
  OrderedJson values(const std::string& suffix = "") const;

 private:
  std::vector<std::unique_ptr<Metric>> metrics_;
  EvalLoss loss_;
  bool with_mse_ = false, many_ = false;
  int64_t hits_ = 0, predicted_ = 0, expected_ = 0;  // classes of all rows
  double squares_ = 0, smoothing_ = 0;
  int64_t rows_ = 0;
};

}  // namespace hone
