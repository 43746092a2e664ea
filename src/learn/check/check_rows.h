// Reads and tokenises the data of a run as training does, and looks at every row.
#pragma once

#include <string>
#include <vector>

#include "learn/check/finding.h"
#include "learn/data/causal_data.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

struct SplitReport {
  int64_t rows = 0, empty = 0;
  int64_t bytes = 0;  // of text
  CausalCounts counts;
  int64_t sequences = 0;  // that training sees: blocks, or rows kept apart, after selection
};

struct RowsReport {
  SplitReport train, eval;
  std::vector<std::vector<int32_t>> samples;  // ids of the first training rows
};

// `tokenizer` may be null when the data hold ids. `vocab` is that of the model. Memory: a batch of
// 1,000 rows, and 64-bit hashes of at most a million of them. What is wrong with the data becomes a
// finding; an Error of a reader ends its split.
RowsReport check_rows(const CausalFiles& files, const Tokenizer* tokenizer, int64_t vocab,
                      ThreadPool& pool, int64_t samples, Findings& findings);

}  // namespace hone
