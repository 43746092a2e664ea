#include "base/core/machine_probes.h"

#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/core/cgroup.h"
#include "base/core/error.h"
#include "base/core/memory.h"
#include "base/core/memory_nodes.h"
#include "base/core/system_files.h"
#include "base/core/text.h"
#include "base/core/threads.h"
#include "base/core/version.h"

namespace hone {

Probe probe_versions() {
  OrderedJson json;
  utsname machine{};
  uname(&machine);
  const std::string system = fmt::format("{} {}", machine.sysname, machine.release);
  json["versions"] = {{"hone", std::string(version())},
                      {"system", system},
                      {"glibc", gnu_get_libc_version()},
                      {"compiler", __VERSION__}};
  return {"versions",
          fmt::format("{}, glibc {}, built by compiler {}", system, gnu_get_libc_version(),
                      __VERSION__),
          "", std::move(json)};
}

Probe probe_processor() {
  OrderedJson json;
  const std::string name = system_value("/proc/cpuinfo", "model name");
  const std::vector<std::string> flags = split(system_value("/proc/cpuinfo", "flags"), ' ');
  std::vector<std::string> known;
  for (const char* f :
       {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_bf16", "avx512_vnni", "amx_bf16"}) {
    if (std::find(flags.begin(), flags.end(), f) != flags.end()) known.push_back(f);
  }
  utsname machine{};
  uname(&machine);
  const auto online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  // Logical processors that share package and core are threads of one core.
  std::set<std::string> cores;
  for (int cpu = 0; cpu < online; ++cpu) {
    const std::string at = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
    if (const std::string core = first_line(at + "core_id"); !core.empty())
      cores.insert(first_line(at + "physical_package_id") + ":" + core);
  }
  const int physical = cores.empty() ? online : static_cast<int>(cores.size());
  cpu_set_t allowed;
  const int may_use =
      sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : online;
  json["processor"] = {
      {"name", name},      {"architecture", machine.machine}, {"logical_processors", online},
      {"cores", physical}, {"usable_processors", may_use},    {"features", known}};
  std::string text =
      fmt::format("{}, {}, {} core{}, {} logical processor{}: {}", name.empty() ? "unknown" : name,
                  machine.machine, physical, physical == 1 ? "" : "s", online,
                  online == 1 ? "" : "s", join(known, " "));
  if (may_use < online)
    text += fmt::format("; this process may use {} of them (taskset or cgroup)", may_use);
  return {"processor", text, "", std::move(json)};
}

Probe probe_memory() {
  OrderedJson json;
  const MemoryReading m = read_memory();
  json["memory"] = {{"total_bytes", m.total_bytes},
                    {"available_bytes", m.available_bytes},
                    {"usable_bytes", m.usable_bytes()}};
  json["memory"]["limit_bytes"] = m.limit_bytes ? OrderedJson(*m.limit_bytes) : OrderedJson();
  json["memory"]["free_bytes"] = m.free_bytes();
  return {"memory",
          fmt::format("{}, {} available{}", format_bytes(m.total_bytes),
                      format_bytes(m.available_bytes),
                      m.limit_bytes
                          ? fmt::format("; the cgroup allows {}, of which {} are free",
                                        format_bytes(*m.limit_bytes), format_bytes(m.free_bytes()))
                          : ""),
          "", std::move(json)};
}

// Memory of a node is near its own cores only.
Probe probe_memory_nodes() {
  OrderedJson json;
  const size_t count = std::max<size_t>(usable_nodes().size(), 1);
  const bool interleaved = wants_interleaving(count, memory_policy());
  json["numa_nodes"] = count;
  json["numa_interleaved"] = interleaved;
  if (count == 1) return {"memory nodes", "one (NUMA)", "", std::move(json)};
  if (!interleaved)
    return {"memory nodes", fmt::format("{} (NUMA); memory is where numactl puts it", count), "",
            std::move(json)};
  return {"memory nodes", fmt::format("{} (NUMA); a run's memory is dealt out over them", count),
          "a run that fits into one node is faster there: numactl --cpunodebind=0 --membind=0 hone "
          "train ...   (Debian, Ubuntu: apt install numactl)",
          std::move(json)};
}

Probe probe_limits() {
  OrderedJson json;
  OrderedJson all = OrderedJson::object();
  std::vector<std::string> texts, remedies;
  auto limit = [&](const char* key, int resource) -> std::optional<int64_t> {
    rlimit r{};
    const bool none =
        getrlimit(static_cast<__rlimit_resource>(resource), &r) != 0 || r.rlim_cur == RLIM_INFINITY;
    all[key] = none ? OrderedJson() : OrderedJson(static_cast<int64_t>(r.rlim_cur));
    if (none) return std::nullopt;
    return static_cast<int64_t>(r.rlim_cur);
  };
  if (const auto bytes = limit("address_space_bytes", RLIMIT_AS)) {
    texts.push_back(fmt::format("address space {}", format_bytes(*bytes)));
    remedies.push_back("ulimit -v unlimited");
  }
  if (const auto bytes = limit("data_bytes", RLIMIT_DATA)) {
    texts.push_back(fmt::format("data {}", format_bytes(*bytes)));
    remedies.push_back("ulimit -d unlimited");
  }
  if (const auto bytes = limit("file_bytes", RLIMIT_FSIZE)) {
    texts.push_back(fmt::format("size of a file {}", format_bytes(*bytes)));
    remedies.push_back("ulimit -f unlimited");
  }
  if (const auto files = limit("open_files", RLIMIT_NOFILE)) {
    texts.push_back(fmt::format("open files {}", *files));
    if (*files < 256) remedies.push_back("ulimit -n 1024");
  }
  all["processors_of_control_group"] = OrderedJson();
  if (const std::optional<double> cpus = read_cgroup().cpus) {
    all["processors_of_control_group"] = *cpus;
    texts.push_back(fmt::format("processor time of {:.1f} processors (cgroup)", *cpus));
    if (*cpus + 0.01 < ThreadPool::default_size()) {
      remedies.push_back(
          fmt::format("--threads {}", std::max<int64_t>(1, static_cast<int64_t>(*cpus))));
    }
  }
  json["limits"] = std::move(all);
  return {"limits", texts.empty() ? "none" : join(texts, ", "), join(remedies, "; "),
          std::move(json)};
}

Probe probe_huge_pages() {
  OrderedJson json;
  const std::string line = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const size_t open = line.find('['), close = line.find(']');
  const std::string mode = open == std::string::npos || close == std::string::npos
                               ? "unknown"
                               : line.substr(open + 1, close - open - 1);
  json["huge_pages"] = mode;
  Probe probe{"huge pages", mode, ""};
  if (mode == "never") {
    probe.remedy =
        "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled   (a few percent of "
        "speed)";
  }
  probe.facts = std::move(json);
  return probe;
}

}  // namespace hone
