#include "operate/monitor/usage_metrics.h"

namespace hone {
namespace {

void put_gpu(Metrics& m, const GpuUsage& g, const std::string& host) {
  const MetricLabels labels{{"gpu", std::to_string(g.index)},
                            {"UUID", g.uuid},
                            {"modelName", g.name},
                            {"Hostname", host}};
  const auto put = [&](const char* name, const char* help, double value, double scale) {
    if (value >= 0) m.gauge(name, help, labels).set(value * scale);
  };
  constexpr double kMiB = 1.0 / (1 << 20);
  put("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", g.busy_share, 100);
  put("DCGM_FI_DEV_MEM_COPY_UTIL", "Memory utilization (in %).", g.memory_busy_share, 100);
  put("DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).",
      static_cast<double>(g.memory_used_bytes), kMiB);
  put("DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB).",
      static_cast<double>(g.memory_free_bytes), kMiB);
  put("DCGM_FI_DEV_POWER_USAGE", "Power draw (in W).", g.power_watts, 1);
  put("DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C).", g.temperature_celsius, 1);
  put("DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz).", g.sm_clock_mhz, 1);
  put("DCGM_FI_DEV_MEM_CLOCK", "Memory clock frequency (in MHz).", g.memory_clock_mhz, 1);
}

}  // namespace

void put_usage(Metrics& m, const Usage& u, const std::string& host) {
  const auto gauge = [&](const char* name, const char* help, auto value) {
    m.gauge(name, help).set(static_cast<double>(value));
  };
  const auto counter = [&](const char* name, const char* help, auto value) {
    m.counter(name, help).set(static_cast<double>(value));
  };
  counter("process_cpu_seconds_total", "Processor time of the process.", u.process_cpu_seconds);
  gauge("process_resident_memory_bytes", "Memory of the process that is resident.",
        u.process_memory_bytes);
  gauge("hone_process_busy_processors", "Processors that the process keeps busy.", u.process_cores);
  counter("hone_process_disk_read_bytes_total", "Bytes that the process read from disks.",
          u.disk_read_bytes);
  counter("hone_process_disk_written_bytes_total", "Bytes that the process wrote to disks.",
          u.disk_written_bytes);
  gauge("hone_machine_cpu_utilization_ratio", "Share of the machine's processors that is busy.",
        u.machine_cpu_share);
  gauge("hone_machine_memory_bytes", "Memory of the machine.", u.machine_memory_bytes);
  gauge("hone_machine_memory_available_bytes", "Memory of the machine that is available.",
        u.machine_memory_available_bytes);
  counter("hone_machine_network_received_bytes_total", "Bytes that the machine received.",
          u.network_received_bytes);
  counter("hone_machine_network_sent_bytes_total", "Bytes that the machine sent.",
          u.network_sent_bytes);
  for (const GpuUsage& g : u.gpus) put_gpu(m, g, host);
}

void put_rank_times(Metrics& m, const std::vector<RankTimes>& times) {
  for (const RankTimes& t : times) {
    const auto put = [&](const char* quantile, double seconds) {
      m.gauge("hone_rank_busy_seconds",
              "Time that a step of the rank computes, without waits for other ranks.",
              {{"rank", std::to_string(t.rank)}, {"host", t.host}, {"quantile", quantile}})
          .set(seconds);
    };
    if (t.timed_steps == 0) continue;
    put("0.5", t.busy_p50_s);
    put("0.99", t.busy_p99_s);
  }
}

}  // namespace hone
