// Predicts a preparation from its first rows.
#pragma once

#include "learn/data/dedup/fingerprints.h"
#include "learn/data/shards/shards.h"

namespace hone {

struct WorkEstimate {
  int64_t files = 0, source_bytes = 0;
  double tokens = 0;  // of all texts; text that is compressed or in columns counts as its file
  double seconds =
      0;  // of tokenising them with this process' threads, and of `workers` threads for
          // the keys of duplicates
  int64_t shard_bytes() const { return static_cast<int64_t>(4 * tokens); }
};
// Tokenises the first megabytes of the first part. Errors: those of the data.
Result<WorkEstimate> estimate_work(const std::vector<TextPart>& parts, const DedupOptions& dedup,
                                   int64_t workers, const Tokenize& tokenize);

}  // namespace hone
