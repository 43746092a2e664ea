// Time as a dependency, so that tests can drive it.
#pragma once

#include <string>

namespace hone {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual double seconds() const = 0;       // steady, from an arbitrary start
  virtual double wall_seconds() const = 0;  // since 1970-01-01 UTC
  virtual void sleep(double seconds) = 0;
};

// The machine's clock.
Clock& system_clock();

// A clock that moves only by set and sleep().
class FakeClock : public Clock {
 public:
  double seconds() const override { return now_; }
  double wall_seconds() const override { return 1.7e9 + now_; }
  void sleep(double seconds) override { now_ += seconds; }
  void advance(double seconds) { now_ += seconds; }

 private:
  double now_ = 0;
};

// "42s", "3m05s", "2h07m", "4d03h".
std::string format_duration(double seconds);

// "2026-05-04T12:30:05Z", with that number of digits after the second.
std::string format_utc(double wall_seconds, int digits = 0);
// The whole seconds since 1970 of a text in that form; 0 for any other text.
double parse_utc(const std::string& text);

}  // namespace hone
