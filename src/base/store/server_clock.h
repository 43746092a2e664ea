// The time as a server has it. Signatures hold the time, and a server refuses one that is some minutes
// off: a clock of this machine that is wrong is corrected by the Date of the refusal.
#pragma once

#include <atomic>

#include "base/core/clock.h"
#include "base/store/http.h"

namespace hone {

class ServerClock {
 public:
  double wall_seconds() const { return system_clock().wall_seconds() + offset_; }

  // After an answer that refuses what was signed with the time `signed_s`: true when that was more than
  // a minute off. The clock is right then, and the request may be signed again. From any thread.
  bool corrected_by(const HttpResponse& refusal, double signed_s);

 private:
  std::atomic<double> offset_{0};
};

}  // namespace hone
