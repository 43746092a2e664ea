#include "learn/train/plateau.h"

#include <algorithm>
#include <cmath>

namespace hone {

Plateau::Plateau(double rate, const Json& arguments)
    : greater_is_better_(arguments.value("mode", "min") == "max"),
      relative_(arguments.value("threshold_mode", "rel") == "rel"),
      factor_(arguments.value("factor", 0.1)),
      threshold_(arguments.value("threshold", 1e-4)),
      least_rate_(arguments.value("min_lr", 0.0)),
      least_change_(arguments.value("eps", 1e-8)),
      patience_(static_cast<int64_t>(arguments.value("patience", 10.0))),
      cooldown_(static_cast<int64_t>(arguments.value("cooldown", 0.0))),
      rate_(rate) {}

bool Plateau::is_better(double metric) const {
  if (std::isnan(metric)) return false;
  if (!best_) return true;
  const double sign = greater_is_better_ ? 1 : -1;
  const double wanted = relative_ ? *best_ * (1 + sign * threshold_) : *best_ + sign * threshold_;
  return greater_is_better_ ? metric > wanted : metric < wanted;
}

void Plateau::evaluated(double metric) {
  if (is_better(metric)) {
    best_ = metric;
    bad_in_row_ = 0;
  } else {
    ++bad_in_row_;
  }
  if (cooling_ > 0) {
    --cooling_;
    bad_in_row_ = 0;
  }
  if (bad_in_row_ <= patience_) return;
  const double lower = std::max(rate_ * factor_, least_rate_);
  if (rate_ - lower > least_change_) rate_ = lower;
  cooling_ = cooldown_;
  bad_in_row_ = 0;
}

Json Plateau::state() const {
  return {{"rate", rate_},
          {"best", best_ ? Json(*best_) : Json()},
          {"bad_in_row", bad_in_row_},
          {"cooling", cooling_}};
}

void Plateau::restore(const Json& state) {
  if (state.is_null()) return;
  rate_ = state.at("rate").get<double>();
  best_ = state.at("best").is_null() ? std::nullopt : std::optional(state.at("best").get<double>());
  bad_in_row_ = state.at("bad_in_row").get<int64_t>();
  cooling_ = state.at("cooling").get<int64_t>();
}

}  // namespace hone
