// Decides when scheduled runs start: at the times of crontab's five fields, or when data change.
#pragma once

#include <array>
#include <bitset>
#include <string>

#include "base/core/error.h"
#include "base/store/store.h"

namespace hone {

// The times of a crontab line. The fields are minute, hour, day of the month, month and day of the week; each is a list
// of numbers, ranges and steps: "*/15 8-18 * * 1-5". Names of months and days (jan, mon), 7 for Sunday, and @hourly,
// @daily, @midnight, @weekly, @monthly and @yearly work too. If both day fields are restricted, one match is enough, as
// in crontab(5).
class CronTimes {
 public:
  static Result<CronTimes> parse(const std::string& text);  // error H3169: the text is malformed
  // The first matching time after `after`, by this machine's time zone. `after` and the result are in seconds since
  // 1970. 0 if no time within eight years matches.
  double next(double after) const;

 private:
  std::array<std::bitset<60>, 5> fields_;
  bool any_day_ = true, any_weekday_ = true;
};

// A text that changes when the data at `place`, a path or URL, change. It is a hash of the names, sizes and contents of
// the files; of names and sizes alone if the data are larger than 256 MiB; "nothing" if `place` does not exist. Errors:
// those of the store.
Result<std::string> fingerprint_of(Store& store, const std::string& place);

}  // namespace hone
