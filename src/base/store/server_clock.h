// A server's time. Signatures contain the time, and servers refuse a time that is some minutes off.
// If this machine's clock is wrong, the Date of the refusal corrects it.
#pragma once

#include <atomic>

#include "base/core/clock.h"
#include "base/store/http.h"

namespace hone {

class ServerClock {
 public:
  double wall_seconds() const { return system_clock().wall_seconds() + offset_; }

  // Call after a refusal of a request that was signed at `signed_s`. True if that was more than a
  // minute off: the clock is corrected, and the request may be signed again. Any thread.
  bool corrected_by(const HttpResponse& refusal, double signed_s);

 private:
  std::atomic<double> offset_{0};
};

}  // namespace hone
