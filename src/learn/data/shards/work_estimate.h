// Predicts the size and duration of a preparation from its first rows.
#pragma once

#include "learn/data/dedup/fingerprints.h"
#include "learn/data/shards/shards.h"

namespace hone {

struct WorkEstimate {
  int64_t files = 0, source_bytes = 0;  // number of source files, and their total size on disk
  // Tokens of all texts, in proportion to source_bytes. For compressed and columnar files this estimate assumes that a
  // byte of the file is a byte of text.
  double tokens = 0;
  // The predicted time: to tokenize all texts with the threads of this process; with deduplication also to compute the
  // keys of the texts with `workers` threads.
  double seconds = 0;
  int64_t shard_bytes() const { return static_cast<int64_t>(4 * tokens); }  // size of the shards
};
// Tokenizes the first megabytes of the first file of the first part. Errors: those of the data.
Result<WorkEstimate> estimate_work(const std::vector<TextPart>& parts, const DedupOptions& dedup,
                                   int64_t workers, const Tokenize& tokenize);

}  // namespace hone
