// Predicts the size of in-memory checkpoints (--memory_save_steps), from which a run on several ranks continues after
// a crash (learn/train/host_copies.h). Each rank writes its part of a checkpoint into the memory of its machine, and
// other machines keep copies of that part.
#pragma once

#include "learn/harness/budget/disk_need.h"

namespace hone {

struct MemoryCopies {
  int64_t part = 0;      // bytes that one rank writes for a checkpoint
  int64_t machines = 1;  // number of machines that hold each part, the rank's own included

  // Bytes that the parts of one rank take in the memory of all machines, at most. They are counted twice, because the
  // older checkpoint stays until the next one is complete.
  int64_t bytes() const { return 2 * machines * part; }
  // Bytes of one rank's part that are sent to other machines for each checkpoint.
  int64_t sent() const { return (machines - 1) * part; }
};

// nullopt if --memory_save_steps is 0. `plan`: the plan of one rank. `weights`: names of the saved weights
// (saved_weights). `ranks`, `machines`: their number in the run. A state that every rank holds completely is divided
// among the ranks: each writes 1 / ranks of it.
std::optional<MemoryCopies> memory_copies(const TrainSettings& s, const RunPlan& plan,
                                          const std::vector<std::string>& weights, int64_t ranks,
                                          int64_t machines);

}  // namespace hone
