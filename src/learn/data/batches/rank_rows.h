// The rows of an optimizer step that each rank takes. They follow from the step's rows and the
// number of ranks alone, so every rank can compute those of the others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/graph/shard.h"

namespace hone {

// Appends this rank's rows to `mine`. A step's rows are batches of `batch_rows` rows
// (StepOptions::batch_rows), of which the last one may be shorter. The rank takes the places
// [m * rank / ranks, m * (rank + 1) / ranks) of a batch of m rows: per_device_train_batch_size rows
// of a whole one, as in Transformers; as many as any other rank, or one fewer, of a short one.
void add_rows_of_rank(std::span<const int64_t> rows, int64_t batch_rows, const Share& share,
                      std::vector<int64_t>& mine);

// The most rows that a rank has of a step of `rows` rows.
int64_t most_rows_of_rank(int64_t rows, int64_t batch_rows, int64_t ranks);

}  // namespace hone
