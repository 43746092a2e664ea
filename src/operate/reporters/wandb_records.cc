#include "operate/reporters/wandb_records.h"

#include "base/core/protobuf.h"
#include "base/core/text.h"
#include "operate/reporters/report_server.h"

namespace hone {

WandbItems wandb_usage(const Usage& u, const Usage& first, int64_t processors) {
  constexpr double kMega = 1048576;
  WandbItems items;
  const auto put = [&](const std::string& name, double value) {
    if (value >= 0) items.emplace_back(name, report_json(value));
  };
  const auto of = [](int64_t bytes) { return static_cast<double>(bytes); };
  if (processors > 0) put("cpu", 100 * u.process_cores / static_cast<double>(processors));
  put("proc.memory.rssMB", of(u.process_memory_bytes) / kMega);
  if (u.machine_memory_bytes > 0) {
    const double all = of(u.machine_memory_bytes);
    put("memory_percent", 100 - 100 * of(u.machine_memory_available_bytes) / all);
    put("proc.memory.availableMB", of(u.machine_memory_available_bytes) / kMega);
    put("proc.memory.percent", 100 * of(u.process_memory_bytes) / all);
  }
  put("disk.in", of(u.disk_read_bytes - first.disk_read_bytes) / kMega);
  put("disk.out", of(u.disk_written_bytes - first.disk_written_bytes) / kMega);
  put("network.sent", of(u.network_sent_bytes - first.network_sent_bytes));
  put("network.recv", of(u.network_received_bytes - first.network_received_bytes));
  for (const GpuUsage& g : u.gpus) {
    const std::string gpu = fmt::format("gpu.{}.", g.index);
    put(gpu + "gpu", 100 * g.busy_share);
    put(gpu + "memory", 100 * g.memory_busy_share);
    put(gpu + "memoryAllocatedBytes", of(g.memory_used_bytes));
    if (g.memory_used_bytes >= 0 && g.memory_total_bytes > 0)
      put(gpu + "memoryAllocated", 100 * of(g.memory_used_bytes) / of(g.memory_total_bytes));
    put(gpu + "temp", g.temperature_celsius);
    put(gpu + "powerWatts", g.power_watts);
    put(gpu + "energyJoules", g.energy_joules);
    put(gpu + "smClock", g.sm_clock_mhz);
    put(gpu + "memoryClock", g.memory_clock_mhz);
  }
  return items;
}

std::string wandb_run(const RunInfo& info, const std::string& id) {
  namespace pb = protobuf;
  std::string run;
  const auto put = [&run](int field, const std::string& text) {
    if (!text.empty()) run += pb::bytes(field, text);
  };
  const auto or_else = [](const char* variable, const std::string& otherwise) {
    const std::string given = environment(variable);
    return given.empty() ? otherwise : given;
  };
  WandbItems config;
  for (const auto& [key, value] : info.settings.items())
    config.emplace_back(key, report_json(value));
  put(1, id);
  put(2, environment("WANDB_ENTITY"));
  put(3, or_else("WANDB_PROJECT", "huggingface"));
  put(4, wandb_config(config));
  put(6, environment("WANDB_RUN_GROUP"));
  put(7, environment("WANDB_JOB_TYPE"));
  put(8, or_else("WANDB_NAME", info.name));
  put(9, environment("WANDB_NOTES"));
  for (const std::string& tag : split(environment("WANDB_TAGS"), ','))
    put(10, std::string(trim(tag)));
  put(13, or_else("WANDB_HOST", info.machine.host));
  put(17, wandb_time(info.begun_s));
  return run;
}

std::string wandb_environment(const RunInfo& info) {
  namespace pb = protobuf;
  const Machine& m = info.machine;
  std::string e = pb::bytes(3, wandb_time(info.begun_s)) + pb::bytes(6, "hone") +
                  pb::bytes(12, m.host) + pb::number(16, m.processors) +
                  pb::number(17, m.processors) + pb::bytes(21, pb::number(1, m.memory_bytes)) +
                  pb::bytes(22, pb::number(1, m.processors) + pb::bytes(3, m.cpu)) +
                  pb::bytes(199, info.id);
  if (m.gpus > 0) e += pb::bytes(18, m.gpu) + pb::number(19, m.gpus);
  for (int64_t i = 0; i < m.gpus; ++i)
    e += pb::bytes(24, pb::bytes(1, m.gpu) + pb::number(2, m.gpu_memory_bytes));
  return e;
}

}  // namespace hone
