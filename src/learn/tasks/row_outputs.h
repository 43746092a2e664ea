// Stores the outputs of the evaluation program for each row.
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
  // The rows to store: `rows` rows of Examples::eval from index `first` on. Each output has `width` floats for a row.
  struct Form {
    int64_t rows = 0, first = 0, width = 1;
  };
  // Computes the metrics from the stored outputs.
  using Values = std::function<OrderedJson(const RowOutputs& kept)>;

  // `names`: names of the program's outputs to store. `values`: null: the only metric is "samples", the number of rows.
  RowOutputs(std::vector<std::string> names, const Form& form, Values values = nullptr);
  bool add(const CollatedRows& rows, const Batch& outputs) override;
  double loss() const override { return std::numeric_limits<double>::quiet_NaN(); }
  OrderedJson values(int64_t rows) const override;
  // The output `name` of all rows: `width` floats for each row, rows in order. An unknown name is a bug.
  const std::vector<float>& of(const std::string& name) const;

 private:
  std::vector<std::string> names_;
  int64_t first_;
  size_t width_;
  std::vector<std::vector<float>> outputs_;  // in the order of names_
  Values values_;
};

}  // namespace hone
