// Bytes of the copies in memory that a run on several ranks keeps for a start after a crash
// (learn/train/host_copies.h), known before its first step.
#pragma once

#include "learn/harness/budget/disk_need.h"

namespace hone {

struct MemoryCopies {
  int64_t part = 0;      // of one rank in a copy
  int64_t machines = 1;  // that keep each part

  // Bytes of one rank in the memory of machines, at most: the older copy stays until the next one is complete.
  int64_t bytes() const { return 2 * machines * part; }
  int64_t sent() const { return (machines - 1) * part; }  // by a rank for each copy
};

// None without --memory_save_steps. `plan`: of one rank. `weights`: saved ones.
std::optional<MemoryCopies> memory_copies(const TrainSettings& s, const RunPlan& plan,
                                          const std::vector<std::string>& weights, int64_t ranks,
                                          int64_t machines);

}  // namespace hone
