// Internal: functions that the source files of class Trainer share.
#pragma once

#include <cmath>

#include "base/core/error.h"
#include "base/core/signals.h"
#include "base/store/errors.h"

namespace hone {

// Rounds x to a multiple of 1 / digits: digits 100 rounds to two digits after the point.
inline double round_to(double x, double digits) { return std::round(x * digits) / digits; }

// Whether a stop was requested and the Error is H0109: the stop request interrupted a read.
inline bool is_cut_short(const Error& e) { return stop_signal() && e.is(err::kInterrupted); }

}  // namespace hone
