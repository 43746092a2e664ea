#include "run/commands/launch_places.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/core/process.h"
#include "base/core/text.h"
#include "base/ranks/world.h"
#include "operate/launch/errors.h"
#include "operate/launch/gpus.h"

namespace hone {
namespace {

// The words for CUDA_VISIBLE_DEVICES of all devices that this process may use.
std::vector<std::string> usable_devices() {
  const auto visible = visible_devices();
  return visible ? *visible : gpu_uuids();
}

bool is_this_host(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == host_name();
}

Error refused_launch(const std::string& why, const std::string& remedy) {
  return Error(err::kLaunchRequest, why).todo(remedy);
}

// The hosts that a hostfile and a choice of slots leave; empty: neither was given.
Result<std::vector<HostSlots>> chosen_hosts(const LaunchSettings& s) {
  std::vector<HostSlots> hosts;
  if (!s.hostfile.empty()) {
    hosts = HONE_TRY(parse_hostfile(HONE_TRY(read_file(s.hostfile)), s.hostfile));
  } else if (!s.include.empty() || !s.exclude.empty()) {
    HostSlots& here = hosts.emplace_back();
    here.host = "localhost";
    here.slots.resize(usable_devices().size());
    std::iota(here.slots.begin(), here.slots.end(), 0);
  } else {
    return hosts;
  }
  hosts = HONE_TRY(choose_slots(std::move(hosts), s.include, s.exclude));
  return first_slots(std::move(hosts), static_cast<int>(s.num_machines),
                     static_cast<int>(s.processes_per_machine));
}

// This machine's devices with the numbers of the slots are all that this process and its ranks see.
void use_slots(const std::vector<int>& slots) {
  const std::vector<std::string> devices = usable_devices();
  std::vector<std::string> words;
  for (const int slot : slots)
    if (slot < static_cast<int>(devices.size()))
      words.push_back(devices[static_cast<size_t>(slot)]);
  if (words.size() == slots.size()) ::setenv("CUDA_VISIBLE_DEVICES", join(words, ",").c_str(), 1);
}

Status place_on_hosts(const LaunchSettings& s, std::vector<HostSlots> hosts, LaunchRequest& r) {
  for (const HostSlots& host : hosts) r.ranks += static_cast<int>(host.slots.size());
  if (s.num_processes > 0 && s.num_processes != r.ranks)
    return refused_launch(fmt::format("{} processes were requested, and the hosts have {} slots",
                                      s.num_processes, r.ranks),
                          "leave the number out, or change the slots");
  r.local_ranks = r.ranks;
  if (hosts.size() == 1 && is_this_host(hosts[0].host)) {
    if (hosts[0].chosen) use_slots(hosts[0].slots);
  } else {
    r.hosts = std::move(hosts);
  }
  return Ok{};
}

int64_t number_of_machines(const LaunchSettings& s) {
  if (s.num_machines > 0) return s.num_machines;
  if (s.num_processes == 0 || s.processes_per_machine == 0) return 1;
  return std::max<int64_t>(1, s.num_processes / s.processes_per_machine);
}

Status place_on_machines(const LaunchSettings& s, LaunchRequest& r) {
  const int64_t machines = number_of_machines(s);
  int64_t here = s.processes_per_machine, all = s.num_processes;
  if (here == 0 && all == 0) here = std::max<int64_t>(1, usable_devices().size());
  if (all == 0) all = here * machines;
  if (here == 0) here = all / machines;
  if (s.first_rank < 0 && here * machines != all)
    return refused_launch(
        fmt::format("{} processes cannot be divided equally among {} machines", all, machines),
        "give --processes_per_machine and --first_rank on each machine");
  r.ranks = static_cast<int>(all);
  r.local_ranks = static_cast<int>(here);
  r.first_rank = static_cast<int>(s.first_rank >= 0     ? s.first_rank
                                  : s.machine_rank >= 0 ? s.machine_rank * here
                                                        : 0);
  r.machines = static_cast<int>(machines);
  r.machine = static_cast<int>(s.machine_rank);
  return Ok{};
}

}  // namespace

Status check_machines(const LaunchSettings& s, const std::string& token) {
  const int64_t machines = number_of_machines(s);
  if (s.machine_rank >= machines)
    return refused_launch(fmt::format("this is machine {} of {}", s.machine_rank, machines),
                          "number the machines from 0");
  if (machines == 1) return Ok{};
  if (s.main_process_ip.empty() || s.main_process_port == 0)
    return refused_launch(
        fmt::format("{} machines need an address and a port where they meet", machines),
        "give each the same --main_process_ip, of machine 0, and --main_process_port, a free port "
        "there");
  if (token.empty())
    return refused_launch(
        fmt::format("{} machines need a token that keeps strangers out", machines),
        fmt::format("set it on each of them before: export {}={}", kTokenOfRanks,
                    new_ranks_token()));
  return Ok{};
}

Status place_ranks(const LaunchSettings& s, LaunchRequest& r) {
  std::vector<HostSlots> hosts = HONE_TRY(chosen_hosts(s));
  return hosts.empty() ? place_on_machines(s, r) : place_on_hosts(s, std::move(hosts), r);
}

}  // namespace hone
