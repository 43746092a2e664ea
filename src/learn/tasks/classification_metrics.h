// Metrics of a classifier's evaluation, with the names of Transformers' example script run_glue. The usual metrics are
// those of the GLUE task. Without a GLUE task they are "accuracy" for classes, "mse" for numbers (a regression) and
// "f1" for sets of classes. If there are several metrics besides the loss, "combined_score" is their mean.
#pragma once

#include <memory>
#include <optional>

#include "learn/metrics/loss.h"
#include "learn/metrics/metric.h"

namespace hone {

// The values of --metric_name: "" (the usual metrics) and the names of all metrics for classes and for numbers.
std::vector<std::string> classification_metrics();

// The kind of a row's label: one class, a number, or a set of classes, which may be empty.
enum class LabelKind { kClass, kNumber, kMany };
// The names of the metrics by which models can be compared on rows with labels of this kind. nullopt: the metrics for
// all three kinds.
std::vector<std::string> row_metrics_of_classification(std::optional<LabelKind> kind = {});

// The loss of a row with a set of classes: the mean over all classes of the binary cross entropy. `logits`: one for
// each class. `classes`: the row's classes, ascending.
double many_names_loss(std::span<const float> logits, std::span<const int32_t> classes);

class ClassificationMetrics {
 public:
  struct Kind {
    std::string task = "";    // name of the GLUE task; "": none
    std::string metric = "";  // name of the metric (--metric_name); "": the usual ones
    // regression: labels are numbers. many: labels are sets of classes; `task` and `metric` are then ignored.
    bool regression = false, many = false;
    int64_t labels = 2;  // number of classes
  };
  // `batch_rows`: rows of an evaluation batch (per_device_eval_batch_size).
  ClassificationMetrics(const Kind& kind, int64_t batch_rows, double label_smoothing);

  // Adds row `row` of the evaluation, counted from 0. `logits`: one for each class. `label`: its class. The loss is the
  // cross entropy, with label smoothing as in Transformers' LabelSmoother.
  void add(int64_t row, std::span<const float> logits, int64_t label);
  // Adds a row of a regression. `logit`: the predicted number. `value`: the number in the data. The loss is the squared
  // error.
  void add(int64_t row, float logit, float value);
  // Adds a row with a set of classes. `logits`: one for each class. `classes`: the classes of the row, ascending. The
  // loss is many_names_loss(). A class is predicted if its logit is positive.
  void add(int64_t row, std::span<const float> logits, std::span<const int32_t> classes);

  int64_t rows() const { return rows_; }
  double loss() const { return loss_.eval_loss(); }  // mean loss of the rows added
  // The metrics by name: "accuracy", ..., "combined_score", "loss". `suffix` is appended to each name.
  OrderedJson values(const std::string& suffix = "") const;

 private:
  std::vector<std::unique_ptr<Metric>> metrics_;
  EvalLoss loss_;
  bool with_mse_ = false, many_ = false;
  // For rows with sets, numbers of classes summed over the rows. hits_: classes that are both predicted and expected.
  int64_t hits_ = 0, predicted_ = 0, expected_ = 0;
  double squares_ = 0, smoothing_ = 0;
  int64_t rows_ = 0;
};

}  // namespace hone
