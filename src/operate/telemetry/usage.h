// Reads the use of the machine and of this process: processors, memory, disk, network and GPUs.
//   UsageReader reader;
//   const Usage u = reader.read();
//
// process_cores, machine_cpu_share and the rates are averages since the last read(). The first read() gives 0 for
// process_cores and the rates, and the average since the machine started for machine_cpu_share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "operate/telemetry/gpu_usage.h"

namespace hone {

struct Usage {
  double wall_seconds = 0;  // time of the reading, in seconds since 1970
  // Processor time of all threads since the start of the process.
  double process_cpu_seconds = 0;
  double process_cores = 0;  // mean number of processors that the process kept busy
  // Share of the machine's processor time that all processes used together, 0 to 1.
  double machine_cpu_share = 0;
  int64_t process_memory_bytes = 0;  // resident memory: anonymous, shared and file pages
  // Largest resident memory at any time since the start of the process, not only at the readings.
  int64_t process_memory_peak_bytes = 0;
  int64_t machine_memory_bytes = 0, machine_memory_available_bytes = 0;
  int64_t disk_read_bytes = 0, disk_written_bytes = 0;  // by the process, since its start
  // Traffic of the whole machine since its start, without the loopback interface.
  int64_t network_received_bytes = 0, network_sent_bytes = 0;
  double disk_read_rate = 0, disk_write_rate = 0;          // bytes per second
  double network_receive_rate = 0, network_send_rate = 0;  // bytes per second
  std::vector<GpuUsage> gpus = {};
};

class UsageReader {
 public:
  // For tests: `root` is put before the path /proc. If NVML is missing, Usage::gpus stays empty.
  explicit UsageReader(std::string root = "");
  ~UsageReader();

  Usage read();

 private:
  std::string root_;
  std::unique_ptr<GpuReader> gpus_;
  Usage last_;
  double machine_busy_ = 0, machine_all_ = 0;  // ticks of /proc/stat at the last read
};

// Summarizes the readings of a run: the means of the shares and of process_cores, and the largest memory use.
class UsageSummary {
 public:
  void add(const Usage& u);
  int64_t readings() const { return readings_; }
  double machine_cpu_share() const { return mean(cpu_share_); }
  double process_cores() const { return mean(cores_); }
  int64_t process_memory_peak_bytes() const { return memory_peak_; }
  // The mean of GpuUsage::busy_share over all GPUs and readings; -1 if no GPU reports it.
  double gpu_busy_share() const { return gpu_readings_ > 0 ? gpu_busy_ / gpu_readings_ : -1; }
  // The used memory of all GPUs together at the reading at which it was largest; -1 if there are no GPUs.
  int64_t gpu_memory_peak_bytes() const { return gpu_memory_peak_; }

 private:
  double mean(double sum) const { return readings_ > 0 ? sum / static_cast<double>(readings_) : 0; }
  int64_t readings_ = 0, memory_peak_ = 0, gpu_memory_peak_ = -1;
  double cpu_share_ = 0, cores_ = 0, gpu_busy_ = 0, gpu_readings_ = 0;
};

}  // namespace hone
