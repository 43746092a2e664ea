#include "operate/launch/cores.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <tuple>

#include "base/core/memory_nodes.h"
#include "base/core/system_files.h"
#include "base/core/threads.h"

namespace hone {

std::vector<std::vector<int>> usable_core_processors(const std::string& root) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {};
  std::map<std::tuple<int, int, int>, std::vector<int>> cores;  // by package, die and core
  for (int c = 0; c < CPU_SETSIZE; ++c) {
    if (!CPU_ISSET(c, &set)) continue;
    const std::string at = fmt::format("{}/sys/devices/system/cpu/cpu{}/topology/", root, c);
    const std::string core = first_line(at + "core_id");
    const auto number = [&](const char* file) { return std::atoi(first_line(at + file).c_str()); };
    cores[core.empty() ? std::tuple(INT32_MAX, 0, c)
                       : std::tuple(number("physical_package_id"), number("die_id"),
                                    std::atoi(core.c_str()))]
        .push_back(c);
  }
  std::vector<std::vector<int>> all;
  for (auto& [place, processors] : cores) all.push_back(std::move(processors));
  return all;
}

std::vector<CoreShare> share_cores(const std::vector<std::vector<int>>& cores, int most_threads,
                                   int ranks) {
  std::vector<CoreShare> shares(static_cast<size_t>(ranks));
  const auto count = static_cast<int64_t>(cores.size());
  for (int rank = 0; rank < ranks; ++rank) {
    CoreShare& share = shares[static_cast<size_t>(rank)];
    const Range threads = thread_range(most_threads, rank, ranks);
    share.threads = static_cast<int>(std::max<int64_t>(1, threads.end - threads.begin));
    if (count < ranks) continue;
    const Range own = thread_range(count, rank, ranks);
    for (int64_t core = own.begin; core < own.end; ++core)
      share.processors.insert(share.processors.end(), cores[static_cast<size_t>(core)].begin(),
                              cores[static_cast<size_t>(core)].end());
    share.threads = std::min(share.threads, static_cast<int>(own.end - own.begin));
  }
  return shares;
}

int use_processors(const std::vector<int>& processors) {
  if (processors.empty()) return 0;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int c : processors) CPU_SET(c, &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : errno;
}

std::vector<int> memory_nodes_near(const std::vector<int>& processors, const std::string& root) {
  std::vector<int> near;
  const std::string nodes = root + "/sys/devices/system/node/";
  for (const int node : parse_node_list(first_line(nodes + "has_memory"))) {
    const std::vector<int> own =
        parse_node_list(first_line(fmt::format("{}node{}/cpulist", nodes, node)));
    if (std::find_first_of(own.begin(), own.end(), processors.begin(), processors.end()) !=
        own.end())
      near.push_back(node);
  }
  return near;
}

void use_near_memory() {
  constexpr int kLocalMemory = 4;  // MPOL_LOCAL of set_mempolicy(2)
  (void)::syscall(SYS_set_mempolicy, kLocalMemory, nullptr, 0);
}

}  // namespace hone
