#include "base/core/memory_nodes.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <iterator>
#include <string>

#include "base/core/system_files.h"
#include "base/core/text.h"

namespace hone {
namespace {

constexpr int kInterleave = 3;    // MPOL_INTERLEAVE of linux/mempolicy.h
constexpr int kMostNodes = 1024;  // what the largest Linux knows

}  // namespace

std::vector<int> parse_node_list(std::string_view text) {
  std::vector<int> nodes;
  const char *at = text.data(), *end = at + text.size();
  while (end > at && (end[-1] == '\n' || end[-1] == ' ')) --end;
  while (at < end) {
    int first = 0;
    auto [after, failed] = std::from_chars(at, end, first);
    int last = first;
    if (failed == std::errc() && after < end && *after == '-') {
      const auto second = std::from_chars(after + 1, end, last);
      after = second.ptr;
      failed = second.ec;
    }
    const bool good = failed == std::errc() && first >= 0 && last >= first && last < kMostNodes &&
                      (nodes.empty() || first > nodes.back()) &&
                      (after == end || (*after == ',' && after + 1 < end));
    if (!good) return {};
    for (int node = first; node <= last; ++node) nodes.push_back(node);
    at = after == end ? end : after + 1;
  }
  return nodes;
}

std::vector<int> usable_nodes(std::string_view has_memory, std::string_view status) {
  const std::vector<int> there = parse_node_list(has_memory);
  constexpr std::string_view kKey = "Mems_allowed_list:";
  const size_t key = status.find(kKey);
  if (key == std::string_view::npos) return there;
  const std::string_view rest = status.substr(key + kKey.size());
  const std::vector<int> allowed = parse_node_list(trim(rest.substr(0, rest.find('\n'))));
  std::vector<int> both;
  std::set_intersection(there.begin(), there.end(), allowed.begin(), allowed.end(),
                        std::back_inserter(both));
  return both;
}

std::vector<int> usable_nodes() {
  return usable_nodes(system_file("/sys/devices/system/node/has_memory"),
                      system_file("/proc/self/status"));
}

int memory_policy() {
  int policy = kDefaultMemoryPolicy;
  if (::syscall(SYS_get_mempolicy, &policy, nullptr, 0ul, nullptr, 0ul) != 0)
    return kDefaultMemoryPolicy;
  return policy;
}

bool wants_interleaving(size_t nodes, int policy) {
  return nodes > 1 && policy == kDefaultMemoryPolicy;
}

bool interleave_over_nodes(void* data, size_t bytes) {
  const std::vector<int> nodes = usable_nodes();
  if (!wants_interleaving(nodes.size(), memory_policy())) return false;
  constexpr size_t kBits = sizeof(unsigned long) * CHAR_BIT;
  std::array<unsigned long, kMostNodes / kBits> mask{};
  for (const int node : nodes)
    mask[static_cast<size_t>(node) / kBits] |= 1ul << (static_cast<size_t>(node) % kBits);
  // The kernel counts one bit less than it is given. Refused (a container's filter): no harm done.
  return ::syscall(SYS_mbind, data, bytes, kInterleave, mask.data(),
                   static_cast<unsigned long>(kMostNodes) + 1, 0u) == 0;
}

}  // namespace hone
