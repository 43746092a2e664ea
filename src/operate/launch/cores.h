// Divides the processor cores of this host among its ranks.
#pragma once

#include <string>
#include <vector>

namespace hone {

// The numbers of the logical processors of each physical core, as far as this process may use them. Cores are sorted
// by package, then by die. Empty if the kernel does not report them. `root` is put before /sys, for tests.
std::vector<std::vector<int>> usable_core_processors(const std::string& root = "");

struct CoreShare {
  // Numbers of logical processors; empty: all, because there are more ranks than cores.
  std::vector<int> processors;
  // Threads of the rank: one a core, within the processor quota of the container.
  int threads = 1;
};
// Divides `cores`, from usable_core_processors(), among the ranks; element i is the share of local rank i.
// `most_threads` is the limit of all ranks together, from usable_cores() (base/core/threads.h); a rank has at least 1.
std::vector<CoreShare> share_cores(const std::vector<std::vector<int>>& cores, int most_threads,
                                   int ranks);

// The NUMA nodes with memory that have at least one of these processors, ascending. `root` is put before /sys, for
// tests.
std::vector<int> memory_nodes_near(const std::vector<int>& processors,
                                   const std::string& root = "");

// Restricts the calling process to these logical processors; an empty list changes nothing. May be called between fork
// and exec. Returns 0 or an errno.
int use_processors(const std::vector<int>& processors);

// Lets the kernel place each page of the calling process on the NUMA node of the processor that touches the page first,
// not interleaved over all nodes (base/core/memory_nodes.h). The setting survives exec. May be called between fork and
// exec.
void use_near_memory();

}  // namespace hone
