// A learning rate that follows evaluations: PyTorch's ReduceLROnPlateau (--lr_scheduler_type reduce_lr_on_plateau). An
// evaluation improves if it is better than the best earlier one by more than `threshold`. After more than `patience`
// evaluations in a row that do not improve, the rate is multiplied by `factor`. patience, threshold and factor are
// arguments in --lr_scheduler_kwargs.
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

  // The state for a checkpoint. restore() sets it; it does nothing if the state is null, and throws Json::exception if
  // the value is not a result of state().
  Json state() const;
  void restore(const Json& state);

 private:
  bool is_better(double metric) const;

  bool greater_is_better_, relative_;
  double factor_, threshold_, least_rate_, least_change_;
  int64_t patience_, cooldown_;
  double rate_;
  std::optional<double> best_;
  // bad_in_row_: evaluations in a row that did not improve. cooling_: after the rate was lowered, the number of further
  // evaluations that are not counted in bad_in_row_ (cooldown).
  int64_t bad_in_row_ = 0, cooling_ = 0;
};

}  // namespace hone
