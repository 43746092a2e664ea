// A clock that is passed as an argument, so that tests can set the time; and texts of durations and dates.
#pragma once

#include <string>

namespace hone {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual double seconds() const = 0;       // since an arbitrary start; never runs backwards
  virtual double wall_seconds() const = 0;  // since 1970-01-01 UTC; may jump
  virtual void sleep(double seconds) = 0;
};

// The machine's clock.
Clock& system_clock();

// A clock for tests that moves only by advance() and sleep(). It starts at 0, and its wall clock starts at 1.7e9
// seconds.
class FakeClock : public Clock {
 public:
  double seconds() const override { return now_; }
  double wall_seconds() const override { return 1.7e9 + now_; }
  void sleep(double seconds) override { now_ += seconds; }
  void advance(double seconds) { now_ += seconds; }

 private:
  double now_ = 0;
};

// "42s", "3m05s", "2h07m" (up to 48 hours), "4d03h"; "?" for a value that is negative, not finite or above 1e10.
std::string format_duration(double seconds);

// "2026-05-04T12:30:05Z", rounded down, with `digits` digits of the fraction of a second ("...05.250Z" for 3).
std::string format_utc(double wall_seconds, int digits = 0);
// Reads a date in the form of format_utc(): the seconds since 1970 without their fraction; 0 if the text does not
// begin with such a date. Text after the seconds is ignored.
double parse_utc(const std::string& text);

}  // namespace hone
