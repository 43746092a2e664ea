// The times of scheduled runs: crontab's five fields, or a change of the data at a URL.
#pragma once

#include <array>
#include <bitset>
#include <string>

#include "base/core/error.h"
#include "base/store/store.h"

namespace hone {

// minute hour day-of-month month day-of-week, each a list of numbers, ranges and steps: "*/15 8-18
// * * 1-5". Names of months and days (jan, mon) and @hourly, @daily, @weekly, @monthly work too; 7
// is Sunday. If both days are restricted, either is enough, as in crontab(5).
class CronTimes {
 public:
  static Result<CronTimes> parse(const std::string& text);  // H3169
  // The first time after `after` (seconds since 1970), in this machine's time zone; 0 if there is
  // none within eight years.
  double next(double after) const;

 private:
  std::array<std::bitset<60>, 5> fields_;
  bool any_day_ = true, any_weekday_ = true;
};

// A hash of the data at a place: names and sizes of files, and their contents up to 256 MiB in all.
Result<std::string> fingerprint_of(Store& store, const std::string& place);

}  // namespace hone
