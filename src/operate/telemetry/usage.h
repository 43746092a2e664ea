// Use of the machine and this process: processor, memory, disk, network, GPUs.
//   UsageReader reader;
//   const Usage u = reader.read();    // rates and shares are since the last read()
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "operate/telemetry/gpu_usage.h"

namespace hone {

struct Usage {
  double wall_seconds = 0;
  double process_cpu_seconds = 0;         // of all threads since the start of the process
  double process_cores = 0;               // processors that the process kept busy
  double machine_cpu_share = 0;           // 0 to 1, all processes
  int64_t process_memory_bytes = 0;       // resident: anonymous, shared and files
  int64_t process_memory_peak_bytes = 0;  // the most so far, also between two readings
  int64_t machine_memory_bytes = 0, machine_memory_available_bytes = 0;
  int64_t disk_read_bytes = 0, disk_written_bytes = 0;         // of the process, since its start
  int64_t network_received_bytes = 0, network_sent_bytes = 0;  // of the machine, without loopback
  double disk_read_rate = 0, disk_write_rate = 0;              // bytes a second
  double network_receive_rate = 0, network_send_rate = 0;
  std::vector<GpuUsage> gpus = {};
};

class UsageReader {
 public:
  // `root` precedes /proc, for tests. Without NVML there are no GPUs.
  explicit UsageReader(std::string root = "");
  ~UsageReader();

  Usage read();

 private:
  std::string root_;
  std::unique_ptr<GpuReader> gpus_;
  Usage last_;
  double machine_busy_ = 0, machine_all_ = 0;  // ticks at the last read
};

// Means and maxima of the readings of a run.
class UsageSummary {
 public:
  void add(const Usage& u);
  int64_t readings() const { return readings_; }
  double machine_cpu_share() const { return mean(cpu_share_); }
  double process_cores() const { return mean(cores_); }
  int64_t process_memory_peak_bytes() const { return memory_peak_; }
  // Over all GPUs; -1 if none reports it.
  double gpu_busy_share() const { return gpu_readings_ > 0 ? gpu_busy_ / gpu_readings_ : -1; }
  int64_t gpu_memory_peak_bytes() const { return gpu_memory_peak_; }

 private:
  double mean(double sum) const { return readings_ > 0 ? sum / static_cast<double>(readings_) : 0; }
  int64_t readings_ = 0, memory_peak_ = 0, gpu_memory_peak_ = -1;
  double cpu_share_ = 0, cores_ = 0, gpu_busy_ = 0, gpu_readings_ = 0;
};

}  // namespace hone
