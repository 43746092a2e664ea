// hone doctor: what this machine has, what hone will use of it, what is missing and how to get it.
#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/core/cgroup.h"
#include "base/core/memory.h"
#include "base/core/memory_nodes.h"
#include "base/core/system_files.h"
#include "base/core/text.h"
#include "base/core/threads.h"
#include "base/store/hub_repository.h"
#include "engine/backends/backends.h"
#include "engine/backends/cuda/blas/blas.h"
#include "engine/backends/cuda/compile/compile.h"
#include "engine/backends/cuda/driver/nvml.h"
#include "engine/backends/cuda/gpus.h"
#include "engine/device/disk_io.h"
#include "engine/plan/op_speeds.h"
#include "learn/data/formats/errors.h"
#include "learn/data/formats/rows.h"
#include "learn/harness/machine_speeds.h"
#include "run/commands/command.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

struct DoctorSettings {
#define HONE_SETTINGS "run/commands/doctor.def"
#include "base/settings/fields.inc"
};

struct Finding {
  std::string topic;   // "processor"
  std::string text;    // what there is
  std::string remedy;  // how to get what is missing; "" when nothing is
};

Finding processor(OrderedJson& json) {
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
  return {"processor", text, ""};
}

// Memory of a node is near its own cores only.
Finding numa(OrderedJson& json) {
  const size_t count = std::max<size_t>(usable_nodes().size(), 1);
  const bool interleaved = wants_interleaving(count, memory_policy());
  json["numa_nodes"] = count;
  json["numa_interleaved"] = interleaved;
  if (count == 1) return {"memory nodes", "one (NUMA)", ""};
  if (!interleaved)
    return {"memory nodes", fmt::format("{} (NUMA); memory is where numactl puts it", count), ""};
  return {"memory nodes", fmt::format("{} (NUMA); a run's memory is dealt out over them", count),
          "a run that fits into one node is faster there: numactl --cpunodebind=0 --membind=0 hone "
          "train ...   (Debian, Ubuntu: apt install numactl)"};
}

Finding kernels(OrderedJson& json, const DeviceSpec& cpu) {
  const std::string& tier = cpu.isa;
  const int threads = cpu.threads;
  json["uses"] = {{"backend", "cpu"}, {"instruction_set", tier}, {"threads", threads}};
  Finding f{"hone uses",
            fmt::format("{} kernels on {} thread{}", tier, threads, threads == 1 ? "" : "s"), ""};
  if (tier == "baseline") {
    f.remedy =
        "hone uses no AVX2, so training is several times slower: unset HONE_CPU_ISA, or take a "
        "machine with AVX2 or AVX-512";
  }
  json["uses"]["bf16"] = cpu.multiplies_bf16 ? "processor" : "emulated";
  return f;
}

// Speeds that were measured earlier for predictions; this command measures nothing.
Finding speed(OrderedJson& json, int threads) {
  json["speed"] = OrderedJson();
  const auto backend = open_backend("cpu", {.threads = threads});
  const auto known = backend.ok() ? machine_speeds(**backend, {.measure = false}) : std::nullopt;
  if (!known) return {"speed", "not measured yet; hone plan and hone train measure it once", ""};
  const Speeds& s = known->speeds;
  const bool bf16 = s.ops->find("matmul.nn.bf16") != nullptr;
  json["speed"] = {{"f32_flops", s.f32_flops},
                   {"bf16_flops", bf16 ? OrderedJson(s.bf16_flops) : OrderedJson()},
                   {"bytes_per_second", s.bytes_per_second},
                   {"file", speeds_file()}};
  return {"speed",
          fmt::format("{:.0f} GFLOP/s in products{}, {:.0f} GB/s of memory, as measured once ({})",
                      s.f32_flops / 1e9,
                      bf16 ? fmt::format(", {:.0f} in bfloat16", s.bf16_flops / 1e9) : "",
                      s.bytes_per_second / 1e9, speeds_file()),
          ""};
}

Finding memory(OrderedJson& json) {
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
          ""};
}

Finding huge_pages(OrderedJson& json) {
  const std::string line = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const size_t open = line.find('['), close = line.find(']');
  const std::string mode = open == std::string::npos || close == std::string::npos
                               ? "unknown"
                               : line.substr(open + 1, close - open - 1);
  json["huge_pages"] = mode;
  Finding f{"huge pages", mode, ""};
  if (mode == "never") {
    f.remedy =
        "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled   (a few percent of "
        "speed)";
  }
  return f;
}

// Limits of this process by `ulimit`, and processor time of its cgroup.
Finding limits(OrderedJson& json) {
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
  return {"limits", texts.empty() ? "none" : join(texts, ", "), join(remedies, "; ")};
}

// Free space and the right to write; of a folder that is yet to be made, those of the one above.
Finding disk(OrderedJson& json) {
  OrderedJson all = OrderedJson::object();
  std::vector<std::string> texts, remedies;
  auto look = [&](const char* key, const std::string& what, const std::string& path,
                  const std::string& remedy) {
    std::error_code failed;
    fs::path at = fs::absolute(path, failed);
    while (!fs::exists(at, failed) && at.has_relative_path()) at = at.parent_path();
    const auto space = fs::space(at, failed);
    const int64_t free = failed ? -1 : static_cast<int64_t>(space.available);
    const bool writable = ::access(at.c_str(), W_OK) == 0;
    all[key] = {{"path", path}, {"free_bytes", free}, {"writable", writable}};
    texts.push_back(fmt::format("{} free in {}{}", free < 0 ? "unknown" : format_bytes(free), what,
                                writable ? "" : ", which may not be written"));
    if (!writable || (free >= 0 && free < (int64_t{1} << 30))) remedies.push_back(remedy);
  };
  look("current_folder", "the current folder", ".",
       "change to a folder that may be written and has some GiB free, or give --output_dir there");
  look("cache", "the hub's cache", hub_cache_folder(),
       "export HF_HOME=/a/folder/with/space   (models and data sets are kept there)");
  json["disk_free_bytes"] = all["current_folder"]["free_bytes"];
  json["disk"] = std::move(all);
  return {"disk", join(texts, "; "), join(remedies, "; ")};
}

// Parquet is readable when its module loads: a file of no bytes then fails for another reason.
Finding parquet(OrderedJson& json) {
  const Result<Format> format = find_format("x.parquet", {});
  std::string reason, remedy;
  if (!format.ok()) {
    reason = format.error().what();
  } else if (auto opened = format->open(memory_source("x.parquet", ""), {});
             !opened.ok() && opened.error().is(err::kArrowMissing)) {
    reason = opened.error().what();
    remedy = opened.error().remedy();
  }
  json["parquet"] = {{"readable", reason.empty()}, {"reason", reason}};
  return {"parquet", reason.empty() ? "readable (Arrow C++)" : reason, remedy};
}

// How what is offloaded to disk is read and written.
Finding io_uring(OrderedJson& json) {
  const std::string why_not = why_no_uring();
  json["io_uring"] = why_not.empty();
  if (why_not.empty()) return {"io_uring", "offloads to disk with many requests at a time", ""};
  return {"io_uring", fmt::format("{}: threads offload to disk", why_not), ""};
}

Finding hub(OrderedJson& json) {
  const bool offline = hub_offline(), token = !hub_token().empty();
  const std::string cache = hub_cache_folder();
  json["hub"] = {
      {"endpoint", hub_endpoint()}, {"cache", cache}, {"offline", offline}, {"token", token}};
  return {"hub",
          fmt::format("{}, {}, cache {}", offline ? "offline" : hub_endpoint(),
                      token ? "a token is set" : "no token (HF_TOKEN)", cache),
          ""};
}

// NVIDIA's GPUs by their driver, and whether kernels can be compiled for them.
Finding gpus(OrderedJson& json) {
  OrderedJson& all = json["gpus"] = OrderedJson::array();
  std::error_code failed;
  const bool has_driver = fs::exists("/proc/driver/nvidia/version", failed);
  const Result<cuda::Driver> driver = cuda::load_driver();
  if (!driver.ok()) {
    if (!has_driver) return {"gpus", "no NVIDIA driver; hone trains on the CPU", ""};
    return {"gpus", driver.error().what(), driver.error().remedy()};
  }
  const Result<std::vector<cuda::Gpu>> found = cuda::gpus(*driver);
  if (!found.ok()) return {"gpus", found.error().what(), ""};
  int version = 0;
  driver->cuDriverGetVersion(&version);
  const std::optional<cuda::Nvml> nvml = cuda::load_nvml();
  std::vector<std::string> texts;
  bool any = false;
  for (size_t i = 0; i < found->size(); ++i) {
    const cuda::Gpu& g = (*found)[i];
    const std::string capability = fmt::format("{}.{}", g.major, g.minor);
    const cuda::GpuLinks links = nvml ? cuda::links_of(*nvml, g.bus_id) : cuda::GpuLinks{};
    all.push_back({{"device", fmt::format("cuda:{}", i)},
                   {"name", g.name},
                   {"capability", capability},
                   {"memory_bytes", g.memory_bytes},
                   {"free_bytes", links.free_bytes},
                   {"pcie", {{"generation", links.pcie_generation}, {"width", links.pcie_width}}},
                   {"nvlinks", links.nvlinks},
                   {"usable", g.is_usable()}});
    const std::string how = links.text();
    texts.push_back(fmt::format("cuda:{} {}, {}{}{}, capability {}{}", i, g.name,
                                format_bytes(g.memory_bytes), how.empty() ? "" : ", ", how,
                                capability,
                                g.is_usable() ? "" : ", which is too old (V100 and up are used)"));
    any = any || g.is_usable();
  }
  const auto compiler = cuda::KernelCompiler::open(version / 1000);
  const auto blas = cuda::load_blas(version / 1000);
  json["cublaslt"] = blas.ok();
  json["nvrtc"] = compiler.ok() ? OrderedJson(compiler->version()) : OrderedJson();
  json["cuda_driver"] = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  json["nvidia_driver"] = nvml ? cuda::driver_version(*nvml) : "";
  Finding f{"gpus",
            fmt::format("{}; driver for CUDA {}.{}{}", texts.empty() ? "none" : join(texts, "; "),
                        version / 1000, version % 1000 / 10,
                        compiler.ok() ? ", kernels by NVRTC " + compiler->version() : ""),
            ""};
  if (any && !compiler.ok()) f.remedy = compiler.error().remedy();
  if (any && compiler.ok() && !blas.ok()) f.remedy = blas.error().remedy();
  return f;
}

// Other accelerators are looked for by what their drivers leave in the file system.
Finding accelerator(OrderedJson& json) {
  OrderedJson found = OrderedJson::array();
  std::vector<std::string> names;
  auto add = [&](const std::string& kind, const std::string& name) {
    found.push_back({{"kind", kind}, {"name", name}, {"used", false}});
    names.push_back(name);
  };
  std::error_code failed;
  if (fs::exists("/dev/kfd", failed)) add("rocm", "AMD GPU");
  for (const char* device : {"/dev/accel0", "/dev/vfio/0"}) {
    if (!fs::exists(device, failed)) continue;
    add("xla", "TPU");
    break;
  }
  json["accelerators"] = std::move(found);
  if (names.empty()) return {"accelerator", "no other one found", ""};
  return {"accelerator", fmt::format("{}: this build has no backend for it", join(names, ", ")),
          ""};
}

Finding versions(OrderedJson& json) {
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
          ""};
}

// The shelf: what computes here, and what can be planned for.
Finding backends(OrderedJson& json) {
  json["backends"] = backend_names();
  json["devices"] = device_names();
  return {"backends",
          fmt::format("{}; hone plan --device also answers for {}", join(backend_names(), ", "),
                      join(device_names(), ", ")),
          ""};
}

Result<int> run_doctor(const std::vector<std::string>& args) {
  DoctorSettings settings;
  Schema schema("hone doctor", "show what this machine has, what hone uses, what is missing");
  settings.bind(schema);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;

  OrderedJson json = {{"version", std::string(version())}};
  const DeviceSpec cpu = HONE_TRY(device_spec("cpu"));
  const std::vector<Finding> findings = {
      versions(json), processor(json), kernels(json, cpu), speed(json, cpu.threads),
      memory(json),   numa(json),      limits(json),       huge_pages(json),
      disk(json),     io_uring(json),  parquet(json),      hub(json),
      backends(json), gpus(json),      accelerator(json)};
  OrderedJson missing = OrderedJson::array();
  std::string text = fmt::format("{:<12} {}\n", "hone", version());
  for (const Finding& f : findings) {
    text += fmt::format("{:<12} {}\n", f.topic, f.text);
    if (f.remedy.empty()) continue;
    text += fmt::format("{:<12}   do: {}\n", "", f.remedy);
    missing.push_back({{"topic", f.topic}, {"what", f.text}, {"do", f.remedy}});
  }
  text += fmt::format(
      "{:<12} {}\n", "missing",
      missing.empty() ? "nothing" : fmt::format("{}, see the lines 'do:'", missing.size()));
  json["missing"] = std::move(missing);
  print_out(settings.json ? dump_json(json) + "\n" : text);
  return kExitDone;
}

}  // namespace

Command command_doctor() {
  return {.name = "doctor",
          .summary = "show what this machine has, what hone uses, what is missing",
          .run = run_doctor};
}

}  // namespace hone
