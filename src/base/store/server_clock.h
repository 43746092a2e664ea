// Estimates a server's clock. Signed requests contain the time, and servers refuse them if the time is some minutes
// wrong. If this machine's clock is wrong, the header Date of the refusal gives the server's time.
#pragma once

#include <atomic>

#include "base/core/clock.h"
#include "base/store/http.h"

namespace hone {

class ServerClock {
 public:
  // The server's time in seconds since 1970-01-01 UTC, for a signature.
  double wall_seconds() const { return system_clock().wall_seconds() + offset_; }

  // Call after the server refused a request that was signed with the time `signed_s`. If this time differs from the
  // answer's Date by more than a minute, corrects the clock and returns true: sign and send the request again. Returns
  // false if the time was not the reason. Any thread may call it.
  bool corrected_by(const HttpResponse& refusal, double signed_s);

 private:
  std::atomic<double> offset_{0};
};

}  // namespace hone
