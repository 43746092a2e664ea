#include "base/ranks/key_values.h"

#include <algorithm>
#include <chrono>

#include "base/core/clock.h"
#include "base/ranks/errors.h"

namespace hone {

Status LocalKeyValues::set(const std::string& key, std::string_view value) {
  HONE_BUG_IF(value.size() > kMostValueBytes, "a value of {} bytes", value.size());
  const std::lock_guard lock(mutex_);
  values_[key] = value;
  changed_.notify_all();
  return Ok{};
}

Result<std::string> LocalKeyValues::get(const std::string& key, double patience_s) {
  const double end = system_clock().seconds() + patience_s;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (const auto it = values_.find(key); it != values_.end()) return it->second;
    if (ended_) return *ended_;
    const double left = end - system_clock().seconds();
    if (left <= 0)
      return Error(err::kRanksMissing,
                   fmt::format("no rank has set '{}' within {:.1f} s", key, patience_s));
    changed_.wait_for(lock, std::chrono::duration<double>(std::min(left, 1.0)));
  }
}

void LocalKeyValues::end(const Error& why) {
  const std::lock_guard lock(mutex_);
  if (!ended_) ended_ = why;
  changed_.notify_all();
}

}  // namespace hone
