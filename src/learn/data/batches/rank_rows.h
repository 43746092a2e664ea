// Divides the rows of an optimizer step among the ranks. The division depends only on the step's rows and the number of
// ranks, so every rank can compute the rows of every other rank.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/graph/shard.h"

namespace hone {

// Appends this rank's rows to `mine`. The step's rows are cut into batches of `batch_rows` rows
// (StepOptions::batch_rows); the last batch may be shorter. From a batch of m rows the rank takes those at indices
// [m * rank / ranks, m * (rank + 1) / ranks). A full batch gives each rank per_device_train_batch_size rows, as in
// Transformers. A short batch gives the ranks numbers of rows that differ by at most 1.
void add_rows_of_rank(std::span<const int64_t> rows, int64_t batch_rows, const Share& share,
                      std::vector<int64_t>& mine);

// The largest number of rows that one rank takes from a step of `rows` rows.
int64_t most_rows_of_rank(int64_t rows, int64_t batch_rows, int64_t ranks);

}  // namespace hone
