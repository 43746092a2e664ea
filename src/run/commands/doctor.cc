// hone doctor: what this machine has, what hone will use of it, what is missing and how to get it.
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include <fstream>
#include <set>
#include <thread>

#include "base/core/process.h"
#include "base/core/text.h"
#include "base/core/threads.h"
#include "engine/backends/cpu/isa.h"
#include "learn/data/formats/errors.h"
#include "learn/data/formats/rows.h"
#include "run/commands/command.h"

namespace hone {
namespace {

struct DoctorSettings {
#define HONE_SETTINGS "run/commands/doctor.def"
#include "base/settings/fields.inc"
};

struct Finding {
  std::string topic;   // "processor"
  std::string text;    // what there is
  std::string remedy;  // how to get what is missing; "" when nothing is
};

// Value of the first line "key : value" of a /proc file.
std::string proc_value(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos && trim(std::string_view(line).substr(0, colon)) == key) {
      return std::string(trim(std::string_view(line).substr(colon + 1)));
    }
  }
  return "";
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

Finding processor(OrderedJson& json) {
  const std::string name = proc_value("/proc/cpuinfo", "model name");
  const std::vector<std::string> flags = split(proc_value("/proc/cpuinfo", "flags"), ' ');
  std::vector<std::string> known;
  for (const char* f :
       {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_bf16", "avx512_vnni", "amx_bf16"}) {
    if (std::find(flags.begin(), flags.end(), f) != flags.end()) known.push_back(f);
  }
  utsname machine{};
  uname(&machine);
  const unsigned online = std::thread::hardware_concurrency();
  json["processor"] = {{"name", name},
                       {"architecture", machine.machine},
                       {"logical_processors", online},
                       {"features", known}};
  return {"processor",
          fmt::format("{}, {} ({} logical processors): {}", name.empty() ? "unknown" : name,
                      machine.machine, online, fmt::join(known, " ")),
          ""};
}

Finding kernels(OrderedJson& json) {
  const char* tier = cpu::isa_name(cpu::isa());
  const int threads = ThreadPool::default_size();
  json["uses"] = {{"backend", "cpu"}, {"instruction_set", tier}, {"threads", threads}};
  Finding f{"hone uses",
            fmt::format("{} kernels on {} thread{}", tier, threads, threads == 1 ? "" : "s"), ""};
  if (cpu::isa() == cpu::Isa::baseline) {
    f.remedy =
        "this processor lacks AVX2, so training is several times slower; a machine with AVX2 or "
        "AVX-512 helps";
  }
  return f;
}

Finding memory(OrderedJson& json) {
  const MemoryReading m = read_memory();
  json["memory"] = {{"total_bytes", m.total_bytes},
                    {"available_bytes", m.available_bytes},
                    {"usable_bytes", m.usable_bytes()}};
  json["memory"]["limit_bytes"] = m.limit_bytes ? OrderedJson(*m.limit_bytes) : OrderedJson();
  return {
      "memory",
      fmt::format(
          "{}, {} available{}", format_bytes(m.total_bytes), format_bytes(m.available_bytes),
          m.limit_bytes ? fmt::format("; the control group allows {}", format_bytes(*m.limit_bytes))
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

Finding disk(OrderedJson& json) {
  struct statvfs s {};
  if (statvfs(".", &s) != 0)
    return {"disk", "the current folder cannot be read", "change to a folder that exists"};
  const auto bytes = static_cast<int64_t>(s.f_bavail) * static_cast<int64_t>(s.f_frsize);
  json["disk_free_bytes"] = bytes;
  return {"disk", fmt::format("{} free in the current folder", format_bytes(bytes)), ""};
}

// Parquet is readable when its module loads: a file of no bytes then fails for another reason.
Finding parquet(OrderedJson& json) {
  const Result<Format> format = find_format("x.parquet", {});
  std::string reason, remedy;
  if (!format.ok()) {
    reason = format.error().what();
  } else if (auto opened = format->open(memory_source("x.parquet", ""), {});
             !opened.ok() && opened.error().code() == std::string_view(err::kArrowMissing.id)) {
    reason = opened.error().what();
    remedy = opened.error().remedy();
  }
  json["parquet"] = {{"readable", reason.empty()}, {"reason", reason}};
  return {"parquet", reason.empty() ? "readable (Arrow C++)" : reason, remedy};
}

Finding hub(OrderedJson& json) {
  const auto variable = [](const char* name) {
    const char* v = std::getenv(name);
    return std::string(v ? v : "");
  };
  std::string cache = variable("HF_HUB_CACHE");
  if (cache.empty()) {
    std::string home = variable("HF_HOME");
    if (home.empty())
      home = (variable("XDG_CACHE_HOME").empty() ? variable("HOME") + "/.cache"
                                                 : variable("XDG_CACHE_HOME")) +
             "/huggingface";
    cache = home + "/hub";
  }
  const std::string endpoint =
      variable("HF_ENDPOINT").empty() ? "https://huggingface.co" : variable("HF_ENDPOINT");
  const std::string offline = to_lower(variable("HF_HUB_OFFLINE"));
  const bool is_offline = std::set<std::string>{"1", "true", "yes", "on"}.contains(offline);
  json["hub"] = {{"endpoint", endpoint},
                 {"cache", cache},
                 {"offline", is_offline},
                 {"token", !variable("HF_TOKEN").empty()}};
  return {"hub",
          fmt::format("{}, {}, cache {}", is_offline ? "offline" : endpoint,
                      variable("HF_TOKEN").empty() ? "no HF_TOKEN" : "HF_TOKEN set", cache),
          ""};
}

Finding accelerator(OrderedJson& json) {
  std::error_code ignored;
  std::vector<std::string> found;
  if (std::ifstream("/proc/driver/nvidia/version")) found.push_back("NVIDIA driver");
  if (std::ifstream("/dev/accel0") || std::ifstream("/dev/vfio/0")) found.push_back("TPU device");
  json["accelerators"] = found;
  if (found.empty()) return {"accelerator", "none found; hone trains on the CPU", ""};
  return {"accelerator",
          fmt::format("{}, which this build does not use: it trains on the CPU",
                      fmt::join(found, ", ")),
          ""};
}

Result<int> run_doctor(const std::vector<std::string>& args) {
  DoctorSettings settings;
  Schema schema("hone doctor", "what this machine has, what hone will use, what is missing");
  settings.bind(schema);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;

  OrderedJson json = {{"version", std::string(version())}};
  const std::vector<Finding> findings = {processor(json),  kernels(json),    memory(json),
                                         huge_pages(json), disk(json),       parquet(json),
                                         hub(json),        accelerator(json)};
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
          .summary = "what this machine has, what hone will use, what is missing",
          .run = run_doctor};
}

}  // namespace hone
