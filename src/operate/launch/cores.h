// Divides the processor cores of this host among its ranks.
#pragma once

#include <string>
#include <vector>

namespace hone {

// The processors of each physical core that this process may use; cores of one package are together.
// `root` is put before /sys, for tests.
std::vector<std::vector<int>> usable_core_processors(const std::string& root = "");

struct CoreShare {
  std::vector<int> processors;  // empty: all, because there are more ranks than cores
  int threads = 1;              // one for each core, within the quota of a container
};
// `most_threads`: of all ranks together, from usable_cores() (base/core/threads.h).
std::vector<CoreShare> share_cores(const std::vector<std::vector<int>>& cores, int most_threads,
                                   int ranks);

// The memory nodes (NUMA) near the processors, ascending. `root` is put before /sys, for tests.
std::vector<int> memory_nodes_near(const std::vector<int>& processors,
                                   const std::string& root = "");

// Restricts the calling process. May be called between fork and exec. Returns 0 or an errno.
int use_processors(const std::vector<int>& processors);

// Pages of the calling process, and of the program that it becomes, are near the processor that touches
// them first, and are not interleaved over all nodes (base/core/memory_nodes.h). May be called between fork
// and exec.
void use_near_memory();

}  // namespace hone
