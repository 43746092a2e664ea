// Memory nodes (NUMA): parts of the machine's memory, each of which is near some cores and far from others.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace hone {

// The numbers in a list in Linux's form, in ascending order: "0-1,4\n" is {0, 1, 4}. Empty if the text is not such a
// list.
std::vector<int> parse_node_list(std::string_view text);
// The nodes that have memory and that a process may use, in ascending order. `has_memory` is the text of
// /sys/devices/system/node/has_memory. `status` is the text of /proc/PID/status; its line Mems_allowed_list has the
// nodes that the process may use. If `status` has no such line, all nodes with memory are usable.
std::vector<int> usable_nodes(std::string_view has_memory, std::string_view status);
std::vector<int> usable_nodes();  // the usable nodes of this process

// MPOL_DEFAULT of Linux: memory is taken from the node of the core that first touches it.
inline constexpr int kDefaultMemoryPolicy = 0;
// The memory policy of the calling thread (get_mempolicy(2)); kDefaultMemoryPolicy if the system does not report it.
int memory_policy();
// Returns true if interleave_over_nodes() has an effect: there are several nodes, and numactl did not choose a policy.
bool wants_interleaving(size_t nodes, int policy);

// Interleaves the pages of a block over the usable nodes, for memory that every thread reads completely. `data` is the
// start of a page. Call it before the block is first touched. Returns false if nothing was changed.
bool interleave_over_nodes(void* data, size_t bytes);

}  // namespace hone
