// Options of a preparation that several processes share (shared_prepare.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "learn/data/dedup/fingerprints.h"

namespace hone {

struct SharedWork {
  int64_t item_bytes = int64_t{256} << 20;
  double stale_s = 60;  // of a lease that its process no longer writes
  DedupOptions dedup;   // within each split
  std::optional<uint64_t>
      shuffle_seed;      // of the order of the training texts; none: that of the files
  bool finishes = true;  // false: leaves the finished items to another process, as if stopped
  // Called after each item, and while others work on the last ones.
  std::function<void(int64_t done, int64_t items)> progress = [](int64_t, int64_t) {};
  std::function<bool()> stops = [] { return false; };  // asked often; true: the work ends here
  // Asked often; true: another process has used and deleted the shards. The work ends as if stopped.
  std::function<bool()> ended = [] { return false; };
};

}  // namespace hone
