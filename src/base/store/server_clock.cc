#include "base/store/server_clock.h"

#include <curl/curl.h>

#include <cmath>

#include "base/core/log.h"

namespace hone {

bool ServerClock::corrected_by(const HttpResponse& refusal, double signed_s) {
  constexpr double kTolerated = 60;
  const time_t date = ::curl_getdate(refusal.header("date").c_str(), nullptr);
  if (date <= 0 || std::abs(static_cast<double>(date) - signed_s) <= kTolerated) return false;
  const double off = static_cast<double>(date) - system_clock().wall_seconds();
  const double now = std::abs(off) <= kTolerated ? 0 : off;
  const double before = offset_.exchange(now);  // another thread may have corrected it
  if (now != 0 && std::abs(now - before) > kTolerated)
    log_warning("the clock of this machine is {} {}: requests are signed with the server's time",
                format_duration(std::abs(now)), now > 0 ? "slow" : "fast");
  return true;
}

}  // namespace hone
