#include "run/commands/launcher_ranks.h"

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/core/text.h"
#include "base/core/threads.h"
#include "operate/launch/gpus.h"
#include "run/commands/errors.h"

namespace hone {
namespace {

constexpr int64_t kUsualPort = 29500;  // of recipes that name none, on several machines

Error bad_value(const RankFlag& f, const std::string& remedy) {
  return Error(err::kUnknownScript, fmt::format("hone cannot do '{} {}'", f.flag, f.value))
      .todo(remedy);
}

Result<int64_t> number_of(const RankFlag& f, std::string_view text, int64_t least) {
  int64_t n = 0;
  const char* const end = text.data() + text.size();
  const auto [at, failed] = std::from_chars(text.data(), end, n);
  if (failed != std::errc() || at != end || n < least || n > 65536)
    return bad_value(f, fmt::format("write a number from {} on", least));
  return n;
}

Result<int64_t> processes_of(const RankFlag& f) {
  const auto gpus = [] {
    const auto visible = visible_devices();
    return static_cast<int64_t>(visible ? visible->size() : gpu_uuids().size());
  };
  if (f.value == "gpu") return gpus();
  if (f.value == "cpu") return usable_cores();
  if (f.value == "auto") return gpus() > 0 ? gpus() : usable_cores();
  return number_of(f, f.value, 1);
}

// The most machines, and the fewest with which a run continues: "2", or "1:2".
struct MachineRange {
  int64_t most = 0, least = 0;  // least 0: `most`
};

Result<MachineRange> machines_of(const RankFlag& f) {
  const size_t colon = f.value.find(':');
  MachineRange range;
  if (colon == std::string::npos) {
    range.most = HONE_TRY(number_of(f, f.value, 1));
    return range;
  }
  range.most = HONE_TRY(number_of(f, f.value.substr(colon + 1), 1));
  range.least = HONE_TRY(number_of(f, f.value.substr(0, colon), 1));
  if (range.least > range.most) return bad_value(f, "write the smaller number of machines first");
  return range;
}

// "all", or the numbers of GPUs, which become those that this process and its ranks see.
Result<int64_t> devices_of(const RankFlag& f) {
  if (f.value == "all") return 0;
  const std::vector<std::string> devices = split(f.value, ',');
  for (const std::string& device : devices) HONE_TRY(number_of(f, trim(device), 0));
  ::setenv("CUDA_VISIBLE_DEVICES", f.value.c_str(), 1);
  return static_cast<int64_t>(devices.size());
}

// "host:port" or "host".
Status take_endpoint(const RankFlag& f, LaunchSettings& s) {
  const size_t colon = f.value.rfind(':');
  if (colon != std::string::npos)
    s.main_process_port = HONE_TRY(number_of(f, f.value.substr(colon + 1), 0));
  s.main_process_ip = f.value.substr(0, colon);
  return Ok{};
}

// By DeepSpeed's names of launchers.
Result<std::string> launcher_of(const RankFlag& f) {
  const std::map<std::string, std::string> names = {
      {"pdsh", "ssh"}, {"ssh", "ssh"}, {"openmpi", "mpirun"}, {"slurm", "slurm"}};
  const auto it = names.find(f.value);
  return it == names.end() ? Result<std::string>(bad_value(f, "use pdsh, openmpi or slurm"))
                           : Result<std::string>(it->second);
}

Status take_rank_flag(const RankFlag& f, LaunchSettings& s, MachineRange& machines) {
  if (f.meaning == "num_processes") s.num_processes = HONE_TRY(number_of(f, f.value, 1));
  if (f.meaning == "processes_per_machine") s.processes_per_machine = HONE_TRY(processes_of(f));
  if (f.meaning == "num_machines") {
    machines = HONE_TRY(machines_of(f));
    s.num_machines = machines.most;
  }
  if (f.meaning == "max_restarts") s.max_restarts = HONE_TRY(number_of(f, f.value, 0));
  if (f.meaning == "machine_rank") s.machine_rank = HONE_TRY(number_of(f, f.value, 0));
  if (f.meaning == "main_process_ip") s.main_process_ip = f.value;
  if (f.meaning == "main_process_port") s.main_process_port = HONE_TRY(number_of(f, f.value, 0));
  if (f.meaning == "endpoint") HONE_TRY(take_endpoint(f, s));
  if (f.meaning == "devices") HONE_TRY(devices_of(f));
  if (f.meaning == "hostfile") s.hostfile = f.value;
  if (f.meaning == "include") s.include = f.value;
  if (f.meaning == "exclude") s.exclude = f.value;
  if (f.meaning == "launcher") s.launcher = HONE_TRY(launcher_of(f));
  if (f.meaning == "launcher_args") s.launcher_args = split(f.value, ' ');
  if (f.meaning == "threads") {
    HONE_TRY(number_of(f, f.value, 1));
    ::setenv("OMP_NUM_THREADS", f.value.c_str(), 1);
  }
  return Ok{};
}

}  // namespace

Result<LaunchSettings> ranks_of_flags(const std::vector<RankFlag>& flags,
                                      const std::string& usual_hostfile) {
  LaunchSettings s;
  MachineRange machines;
  bool has_endpoint = false, is_numbered = false;
  for (const RankFlag& f : flags) {
    HONE_TRY(take_rank_flag(f, s, machines));
    has_endpoint = has_endpoint || f.meaning == "endpoint";
    is_numbered = is_numbered || f.meaning == "machine_rank";
  }
  std::error_code unknown;
  if (s.hostfile.empty() && !usual_hostfile.empty() &&
      std::filesystem::exists(usual_hostfile, unknown))
    s.hostfile = usual_hostfile;
  // As torchrun's rendezvous c10d.
  if (has_endpoint && s.num_machines > 1 && !is_numbered) s.machine_rank = -1;
  const bool has_hosts = !s.hostfile.empty() || !s.include.empty() || !s.exclude.empty();
  if (s.num_processes == 0 && s.processes_per_machine == 0 && !has_hosts)
    s.processes_per_machine = 1;
  if (machines.least > 0) s.min_ranks = machines.least * s.processes_per_machine;
  if (s.num_machines > 1 && s.main_process_port == 0 && !has_hosts)
    s.main_process_port = kUsualPort;
  return s;
}

}  // namespace hone
