// Memory nodes (NUMA): memory that is near some cores and far from others.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace hone {

// The numbers of a list as Linux writes it, "0-1,4\n", ascending; empty when it is none.
std::vector<int> parse_node_list(std::string_view text);
// Nodes with memory that a process may use: /sys/devices/system/node/has_memory, and of
// /proc/self/status the line Mems_allowed_list (absent: all).
std::vector<int> usable_nodes(std::string_view has_memory, std::string_view status);
std::vector<int> usable_nodes();  // of this process

// The policy of memory that has none of its own, from get_mempolicy(2).
inline constexpr int kDefaultMemoryPolicy = 0;
int memory_policy();  // also if the system has no policy or does not report it
// Whether pages are interleaved over the nodes: there are several nodes, and numactl did not choose
// a policy.
bool wants_interleaving(size_t nodes, int policy);

// Interleaves the pages of a block over the usable nodes, for memory of which every thread reads
// all. Call it before the block is touched. Returns false if nothing was changed. `data` starts a
// page.
bool interleave_over_nodes(void* data, size_t bytes);

}  // namespace hone
