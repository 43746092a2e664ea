// The outputs of an evaluation's program, kept by row.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "learn/harness/examples.h"

namespace hone {

class RowOutputs final : public EvalMetrics {
 public:
  // The rows to keep: `rows` of the evaluation's rows from number `first` on, with `width` numbers
  // of each output.
  struct Form {
    int64_t rows = 0, first = 0, width = 1;
  };
  // Makes the metrics of the kept outputs.
  using Values = std::function<OrderedJson(const RowOutputs& kept)>;

  // `values`: null if no metric is needed but the number of rows.
  RowOutputs(std::vector<std::string> names, const Form& form, Values values = nullptr);
  bool add(const CollatedRows& rows, const Batch& outputs) override;
  double loss() const override { return std::numeric_limits<double>::quiet_NaN(); }
  OrderedJson values(int64_t rows) const override;
  // The output of all rows, `width` numbers each.
  const std::vector<float>& of(const std::string& name) const;

 private:
  std::vector<std::string> names_;
  int64_t first_;
  size_t width_;
  std::vector<std::vector<float>> outputs_;  // by name
  Values values_;
};

}  // namespace hone
