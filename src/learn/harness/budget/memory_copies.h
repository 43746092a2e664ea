// Predicts the size of in-memory checkpoints (--memory_save_steps), from which a run on several ranks continues after
// a crash (learn/train/host_copies.h). Each rank writes its part of a checkpoint into the memory of its machine, and
// other machines keep copies of that part.
#pragma once

#include "learn/harness/budget/disk_need.h"

namespace hone {

struct MemoryCopies {
  int64_t part = 0;  // bytes of one rank's part of a checkpoint
  // Number of machines that have a copy of each part, including the machine of the rank that wrote it.
  int64_t machines = 1;

  // The largest number of bytes that the parts of one rank take in the memory of all machines together. Each part
  // counts twice, because the older checkpoint stays until the next one is complete.
  int64_t bytes() const { return 2 * machines * part; }
  // Bytes of one rank's part that are sent to other machines for each checkpoint.
  int64_t sent() const { return (machines - 1) * part; }
};

// Predicts the sizes; nullopt if --memory_save_steps is 0. `plan`: the plan of one rank. `weights`: names of the saved
// weights (saved_weights). `ranks`, `machines`: numbers of ranks and of machines of the run. A state is the tensor of a
// weight or of optimizer values. If every rank has the whole tensor, each rank writes 1 / ranks of it. If the ranks
// divide the rows of the tensor, each rank writes the rows that it has.
std::optional<MemoryCopies> memory_copies(const TrainSettings& s, const RunPlan& plan,
                                          const std::vector<std::string>& weights, int64_t ranks,
                                          int64_t machines);

}  // namespace hone
