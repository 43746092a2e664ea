#include "learn/harness/budget/machine_speeds.h"

#include <sys/stat.h>

#include <filesystem>

#include "base/core/clock.h"
#include "base/core/interruptions.h"
#include "base/core/log.h"
#include "base/core/system_files.h"
#include "base/core/text.h"
#include "base/core/version.h"
#include "base/store/store.h"
#include "engine/session/calibrate.h"
#include "learn/harness/budget/limits.h"

namespace hone {
namespace {

constexpr int kForm = 2;  // of the file, and of the measurements

std::string disk_key(const std::string& folder) {
  struct stat s {};
  ::stat(folder.c_str(), &s);
  return fmt::format("disk {:x}", s.st_dev);
}

double number(const Json& j, const char* key, double otherwise = 0) {
  const auto it = j.find(key);
  return it != j.end() && it->is_number() ? it->get<double>() : otherwise;
}

// Above it other programs were busy during the measurement, and a later run measures again.
constexpr int64_t kCalmInterruptions = 100;
constexpr double kKeptAtMost = 600;  // seconds

bool is_doubtful(const Json& speeds) {
  return number(speeds, "interruptions") > kCalmInterruptions;
}

bool is_outdated(const Json& speeds) {
  const double age = system_clock().wall_seconds() - number(speeds, "measured_at");
  return is_doubtful(speeds) && age > kKeptAtMost;
}

// The lines of the file, by key. Empty if the file is missing or not JSON.
class SpeedsFile {
 public:
  SpeedsFile() {
    const Result<Json> j = read_json_file(speeds_file());
    if (j.ok() && j->is_object() && number(*j, "form") == kForm) all_ = *j;
    all_["form"] = kForm;
  }
  Json get(const std::string& key) const {
    const auto it = all_.find(key);
    return it != all_.end() && it->is_object() ? *it : Json::object();
  }
  void put(const std::string& key, OrderedJson value) {
    all_[key] = Json(value);
    const std::string path = speeds_file();
    Status kept = file_store().make_dirs(std::filesystem::path(path).parent_path().string());
    if (kept.ok()) kept = file_store().write(path, dump_json(all_, {.indent = 1}) + "\n");
    if (!kept.ok()) log_debug("the speeds are not kept: {}", kept.error().what());
  }

 private:
  Json all_ = Json::object();
};

OrderedJson json_of(const Calibration& c) {
  return {{"f32_flops", c.f32_flops},
          {"bf16_flops", c.bf16_flops},
          {"bytes_per_second", c.bytes_per_second},
          {"host_bytes_per_second", c.host_bytes_per_second},
          {"node_seconds", c.node_seconds},
          {"ops", c.ops.json()}};
}

}  // namespace

std::string speeds_file() { return cache_folder() + "/speeds.json"; }

SpeedsWanted SpeedsWanted::of(const TrainSettings& s, bool choices) {
  bool disk = choices;
  for (const std::string* device : {&s.offload_optimizer_device, &s.offload_gradient_device,
                                    &s.offload_param_device, &s.offload_activation_device})
    disk |= *device == "nvme" || (*device == "cpu" && s.host_memory);  // host without room
  return {.bf16 = s.computes_in_bf16(), .disk_folder = disk ? s.offload_folder() : ""};
}

std::optional<MachineSpeeds> machine_speeds(const Backend& backend, const SpeedsWanted& wanted) {
  if (backend.name() != "cpu" || !backend.computes()) return std::nullopt;
  const DeviceSpec& spec = backend.device().spec();
  MachineSpeeds m;
  m.name = fmt::format("{}, {}, {} thread{}", system_value("/proc/cpuinfo", "model name"), spec.isa,
                       spec.threads, spec.threads == 1 ? "" : "s");
  const std::string key = fmt::format("{}, hone {}", m.name, version());
  SpeedsFile file;
  Json known = file.get(key);
  const auto has = [&](bool bf16) {
    return known.contains("ops") && known["ops"].is_object() &&
           known["ops"].contains(bf16 ? "matmul.nn.bf16" : "matmul.nn");
  };
  if (wanted.measure && (!has(wanted.bf16) || is_outdated(known))) {
    const int64_t before = times_interrupted();
    const Result<Calibration> fresh = calibrate(backend, wanted.bf16);
    const int64_t interrupted = times_interrupted() - before;
    if (fresh.ok()) {
      m.measured_now = true;
      OrderedJson json = json_of(*fresh);
      json["interruptions"] = interrupted;
      json["measured_at"] = system_clock().wall_seconds();
      known = Json(json);
      file.put(key, json);
    } else {
      log_debug("the speed of this machine is not measured: {}", fresh.error().what());
    }
  }
  if (!has(false)) return std::nullopt;
  m.measured_at = number(known, "measured_at");
  m.doubtful = is_doubtful(known);
  m.ops = std::make_shared<OpSpeeds>(OpSpeeds::from_json(known["ops"]));
  m.speeds = kTypicalCpu;
  m.speeds.ops = m.ops.get();
  m.speeds.f32_flops = m.speeds.f16_flops = number(known, "f32_flops");
  m.speeds.bf16_flops = number(known, "bf16_flops");
  m.speeds.bytes_per_second = number(known, "bytes_per_second");
  m.speeds.host_bytes_per_second = number(known, "host_bytes_per_second");
  m.speeds.node_seconds = number(known, "node_seconds");
  const std::string folder = existing_folder(wanted.disk_folder);
  Json disk = file.get(disk_key(folder));
  if (disk.empty() && !wanted.disk_folder.empty() && wanted.measure) {
    if (const Result<DiskSpeeds> fresh = calibrate_disk(backend, folder); fresh.ok()) {
      const OrderedJson json{{"read_bytes_per_second", fresh->read_bytes_per_second},
                             {"write_bytes_per_second", fresh->write_bytes_per_second}};
      disk = Json(json);
      file.put(disk_key(folder), json);
    }
  }
  m.speeds.disk_read_bytes_per_second =
      number(disk, "read_bytes_per_second", kTypicalCpu.disk_read_bytes_per_second);
  m.speeds.disk_write_bytes_per_second =
      number(disk, "write_bytes_per_second", kTypicalCpu.disk_write_bytes_per_second);
  return m;
}

}  // namespace hone
