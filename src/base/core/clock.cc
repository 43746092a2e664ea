#include "base/core/clock.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <thread>

namespace hone {
namespace {
class SystemClock : public Clock {
 public:
  double seconds() const override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  double wall_seconds() const override {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  void sleep(double seconds) override {
    if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
};
}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e10) return "?";
  auto s = static_cast<int64_t>(std::llround(seconds));
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  if (s < 48 * 3600) return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d{:02}h", s / 86400, s / 3600 % 24);
}

std::string format_utc(double wall_seconds, int digits) {
  const double scale = std::pow(10.0, digits);
  const auto units = static_cast<int64_t>(std::floor(wall_seconds * scale));
  const auto whole = static_cast<int64_t>(scale);
  const auto t = static_cast<std::time_t>(units / whole);
  std::tm tm{};
  gmtime_r(&t, &tm);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
  return digits > 0 ? fmt::format("{}.{:0{}}Z", text, units % whole, digits)
                    : std::string(text) + "Z";
}

double parse_utc(const std::string& text) {
  std::tm t{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &t);
  return end == nullptr ? 0 : static_cast<double>(::timegm(&t));
}

}  // namespace hone
