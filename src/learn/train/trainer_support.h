// Shared by the sources of class Trainer.
#pragma once

#include <cmath>

#include "base/core/error.h"
#include "base/core/signals.h"
#include "base/store/errors.h"

namespace hone {

inline double round_to(double x, double digits) { return std::round(x * digits) / digits; }

// Whether a request to stop interrupted a read.
inline bool is_cut_short(const Error& e) { return stop_signal() && e.is(err::kInterrupted); }

}  // namespace hone
