// Metrics of a classifier's evaluation, with the names of Transformers' example script run_glue: the metrics of the
// GLUE task; without a GLUE task accuracy, or mse for a regression. If there are several, combined_score is their
// mean.
#pragma once

#include <memory>
#include <optional>

#include "learn/metrics/loss.h"
#include "learn/metrics/metric.h"

namespace hone {

// The values of --metric_name: "" (the usual metrics) and the names of all metrics for labels and for numbers.
std::vector<std::string> classification_metrics();

// The kind of a row's label: one class, a number, or a set of classes, which may be empty.
enum class LabelKind { kClass, kNumber, kMany };
// The names of the metrics by which models can be compared on rows with labels of this kind; nullopt: of any kind.
std::vector<std::string> row_metrics_of_classification(std::optional<LabelKind> kind = {});

// The mean binary cross entropy of a row with a set of classes. `logits`: one for each class. `classes`: the row's
// classes, ascending.
double many_names_loss(std::span<const float> logits, std::span<const int32_t> classes);

class ClassificationMetrics {
 public:
  struct Kind {
    std::string task = "";    // name of the GLUE task; "": none
    std::string metric = "";  // name of the metric (--metric_name); "": the usual ones
    bool regression = false, many = false;  // labels are numbers; labels are sets of classes
    int64_t labels = 2;                     // number of classes
  };
  // `batch_rows`: rows of an evaluation batch (per_device_eval_batch_size).
  ClassificationMetrics(const Kind& kind, int64_t batch_rows, double label_smoothing);

  // Adds row `row` of the evaluation, counted from 0. `logits`: one for each class. The loss is the cross entropy, with
  // label smoothing as in Transformers' LabelSmoother.
  void add(int64_t row, std::span<const float> logits, int64_t label);
  // Adds a row of a regression. `logit`: the predicted number. The loss is the squared error.
  void add(int64_t row, float logit, float value);
  // Adds a row with a set of classes. `classes`: ascending. The loss is many_names_loss(). A class is predicted if its
  // logit is positive.
  void add(int64_t row, std::span<const float> logits, std::span<const int32_t> classes);

  int64_t rows() const { return rows_; }
  double loss() const { return loss_.eval_loss(); }
  // The metrics by name: "accuracy", ..., "combined_score", "loss". `suffix` is appended to each name.
  OrderedJson values(const std::string& suffix = "") const;

 private:
  std::vector<std::unique_ptr<Metric>> metrics_;
  EvalLoss loss_;
  bool with_mse_ = false, many_ = false;
  // Sums over all rows with sets: classes that are predicted and expected, predicted, expected.
  int64_t hits_ = 0, predicted_ = 0, expected_ = 0;
  double squares_ = 0, smoothing_ = 0;
  int64_t rows_ = 0;
};

}  // namespace hone
