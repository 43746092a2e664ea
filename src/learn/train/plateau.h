// A learning rate that follows evaluations: PyTorch's ReduceLROnPlateau (--lr_scheduler_type reduce_lr_on_plateau).
// After more than `patience` evaluations in a row that are not better than the best one by more than `threshold`, the
// rate is multiplied by `factor`.
#pragma once

#include <optional>

#include "base/core/json.h"

namespace hone {

class Plateau {
 public:
  // `rate`: the first learning rate. `arguments`: --lr_scheduler_kwargs, which Schedule::make has checked; the defaults
  // are PyTorch's.
  Plateau(double rate, const Json& arguments);

  double rate() const { return rate_; }
  // Call this after each evaluation. `metric`: value of the metric that compares evaluations.
  void evaluated(double metric);

  // The state for a checkpoint. restore() does nothing for null, and throws Json::exception for a value that state()
  // did not write.
  Json state() const;
  void restore(const Json& state);

 private:
  bool is_better(double metric) const;

  bool greater_is_better_, relative_;
  double factor_, threshold_, least_rate_, least_change_;
  int64_t patience_, cooldown_;
  double rate_;
  std::optional<double> best_;
  // Evaluations in a row without an improvement; evaluations until they are counted again (cooldown).
  int64_t bad_in_row_ = 0, cooling_ = 0;
};

}  // namespace hone
