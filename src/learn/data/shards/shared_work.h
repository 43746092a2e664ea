// Options of a preparation by several processes (shared_prepare.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "learn/data/dedup/fingerprints.h"

namespace hone {

struct SharedWork {
  int64_t item_bytes = int64_t{256} << 20;  // the size of an item, in bytes of the source files
  // A lease that its process has not renewed for this number of seconds may be taken over.
  double stale_s = 60;
  DedupOptions dedup;  // leaves out duplicates inside each split
  // Set: shuffles the training texts with this seed. Unset: they keep the order of the files.
  std::optional<uint64_t> shuffle_seed;
  // false: this process does not finish the folder; another process does. Prepared::stopped is then true.
  bool finishes = true;
  // Called after each item, and from time to time while this process waits for others. `done` of the `items` items of
  // all steps are done.
  std::function<void(int64_t done, int64_t items)> progress = [](int64_t, int64_t) {};
  std::function<bool()> stops = [] { return false; };  // called often; true stops the work
  // Called often; true: another process has used and deleted the shards. The work then ends as if it was stopped.
  std::function<bool()> ended = [] { return false; };
};

}  // namespace hone
