// The learning rate by evaluations: PyTorch's ReduceLROnPlateau, which --lr_scheduler_type reduce_lr_on_plateau names.
// After more than `patience` evaluations in a row that are not better than the best by the threshold, the
// rate is multiplied by `factor`.
#pragma once

#include <optional>

#include "base/core/json.h"

namespace hone {

class Plateau {
 public:
  // `arguments`: --lr_scheduler_kwargs, checked by the schedule's form; defaults are PyTorch's.
  Plateau(double rate, const Json& arguments);

  double rate() const { return rate_; }
  // After an evaluation.
  void evaluated(double metric);

  // For a checkpoint. restore() ignores null and throws Json::exception for anything that state() did not
  // write.
  Json state() const;
  void restore(const Json& state);

 private:
  bool is_better(double metric) const;

  bool greater_is_better_, relative_;
  double factor_, threshold_, least_rate_, least_change_;
  int64_t patience_, cooldown_;
  double rate_;
  std::optional<double> best_;
  int64_t bad_in_row_ = 0, cooling_ = 0;  // evaluations
};

}  // namespace hone
