#include "operate/telemetry/usage.h"

#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "base/core/clock.h"
#include "base/core/memory.h"
#include "base/core/system_files.h"
#include "base/core/text.h"

namespace hone {
namespace {

// utime and stime: fields 14 and 15 of /proc/self/stat, after the name in parentheses.
double process_seconds(const std::string& stat) {
  const size_t end = stat.rfind(')');
  if (end == std::string::npos) return 0;
  std::istringstream in(stat.substr(end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) in >> skipped;
  double user = 0, system = 0;
  in >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// "read_bytes: 4096" of /proc/self/io.
int64_t value_after(const std::string& text, std::string_view name) {
  const size_t at = text.find(name);
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + name.size());
}

void read_network(const std::string& text, Usage& u) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || trim(line.substr(0, colon)) == "lo") continue;
    std::istringstream numbers(line.substr(colon + 1));
    int64_t received = 0, sent = 0, skipped = 0;
    numbers >> received;
    for (int i = 1; i < 8; ++i) numbers >> skipped;
    numbers >> sent;
    u.network_received_bytes += received;
    u.network_sent_bytes += sent;
  }
}

}  // namespace

UsageReader::UsageReader(std::string root) : root_(std::move(root)), gpus_(GpuReader::open()) {}
UsageReader::~UsageReader() = default;

Usage UsageReader::read() {
  Usage u;
  u.wall_seconds = system_clock().wall_seconds();
  u.process_cpu_seconds = process_seconds(system_file(root_ + "/proc/self/stat"));
  const std::string io = system_file(root_ + "/proc/self/io");
  u.disk_read_bytes = value_after(io, "\nread_bytes: ");
  u.disk_written_bytes = value_after(io, "\nwrite_bytes: ");
  read_network(system_file(root_ + "/proc/net/dev"), u);
  const MemoryReading m = read_memory();
  u.process_memory_bytes = m.rss_anon_bytes + m.rss_shmem_bytes + m.rss_file_bytes;
  u.process_memory_peak_bytes = std::max(u.process_memory_bytes, m.rss_peak_bytes);
  u.machine_memory_bytes = m.total_bytes;
  u.machine_memory_available_bytes = m.available_bytes;
  // "cpu  user nice system idle iowait irq softirq steal ..."
  std::istringstream cpu(system_file(root_ + "/proc/stat"));
  std::string word;
  cpu >> word;
  double all = 0, idle = 0;
  for (int i = 0; i < 8; ++i) {
    double ticks = 0;
    cpu >> ticks;
    all += ticks;
    if (i == 3 || i == 4) idle += ticks;
  }
  if (all > machine_all_)
    u.machine_cpu_share = std::clamp((all - idle - machine_busy_) / (all - machine_all_), 0.0, 1.0);
  machine_all_ = all;
  machine_busy_ = all - idle;
  if (const double dt = u.wall_seconds - last_.wall_seconds; last_.wall_seconds > 0 && dt > 0) {
    const auto rate = [dt](int64_t now, int64_t before) {
      return std::max(0.0, static_cast<double>(now - before) / dt);
    };
    u.process_cores = std::max(0.0, (u.process_cpu_seconds - last_.process_cpu_seconds) / dt);
    u.disk_read_rate = rate(u.disk_read_bytes, last_.disk_read_bytes);
    u.disk_write_rate = rate(u.disk_written_bytes, last_.disk_written_bytes);
    u.network_receive_rate = rate(u.network_received_bytes, last_.network_received_bytes);
    u.network_send_rate = rate(u.network_sent_bytes, last_.network_sent_bytes);
  }
  if (gpus_) u.gpus = gpus_->read();
  last_ = u;
  return u;
}

void UsageSummary::add(const Usage& u) {
  ++readings_;
  cpu_share_ += u.machine_cpu_share;
  cores_ += u.process_cores;
  memory_peak_ = std::max(memory_peak_, u.process_memory_peak_bytes);
  int64_t gpu_memory = 0;
  for (const GpuUsage& g : u.gpus) {
    if (g.busy_share >= 0) {
      gpu_busy_ += g.busy_share;
      gpu_readings_ += 1;
    }
    gpu_memory += std::max<int64_t>(0, g.memory_used_bytes);
  }
  if (!u.gpus.empty()) gpu_memory_peak_ = std::max(gpu_memory_peak_, gpu_memory);
}

}  // namespace hone
