#include "base/store/places/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace hone {

Status in_parallel(int64_t count, int threads, const std::function<Status(int64_t)>& f) {
  if (count <= 1 || threads <= 1) {
    for (int64_t i = 0; i < count; ++i) HONE_TRY(f(i));
    return Ok{};
  }
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::optional<Error> failed;
  const auto work = [&] {
    for (int64_t i = next++; i < count; i = next++) {
      Status s = f(i);
      if (s.ok()) continue;
      std::lock_guard lock(mutex);
      if (!failed) failed = std::move(s.error());
      next = count;
    }
  };
  std::vector<std::thread> others;
  for (int64_t t = 1; t < std::min<int64_t>(threads, count); ++t) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
  if (failed) return std::move(*failed);
  return Ok{};
}

}  // namespace hone
