#include "operate/telemetry/usage.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "operate/telemetry/gpu_usage.h"

namespace hone {
namespace {

void put_file(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

TEST(Usage, ReadsWhatLinuxSays) {
  const std::string root = testing::TempDir() + "/usage_root";
  put_file(root + "/proc/self/stat",
           "7 (a ) name) S 1 2 3 4 5 6 7 8 9 10 250 150 0 0 20 0 4 0 100 0 0\n");
  put_file(root + "/proc/self/io", "rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\n");
  put_file(root + "/proc/net/dev",
           "Inter-|   Receive\n face |bytes\n    lo: 99 0 0 0 0 0 0 0 99 0 0 0 0 0 0 0\n"
           "  eth0: 1000 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0\n");
  put_file(root + "/proc/stat", "cpu  10 0 10 80 0 0 0 0 0 0\n");
  UsageReader reader(root);
  Usage u = reader.read();
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  EXPECT_DOUBLE_EQ(u.process_cpu_seconds, 400 / ticks);
  EXPECT_EQ(u.disk_read_bytes, 4096);
  EXPECT_EQ(u.disk_written_bytes, 8192);
  EXPECT_EQ(u.network_received_bytes, 1000);
  EXPECT_EQ(u.network_sent_bytes, 500);
  EXPECT_DOUBLE_EQ(u.machine_cpu_share, 0.2);
  put_file(root + "/proc/stat", "cpu  40 0 40 100 20 0 0 0 0 0\n");  // 60 busy of 100
  u = reader.read();
  EXPECT_DOUBLE_EQ(u.machine_cpu_share, 0.6);
  EXPECT_EQ(u.disk_read_rate, 0);
}

TEST(Usage, TheRealMachineHasMemoryAndTime) {
  const Usage u = UsageReader().read();
  EXPECT_GT(u.process_memory_bytes, 1 << 20);
  EXPECT_GE(u.process_memory_peak_bytes, u.process_memory_bytes);
  EXPECT_GT(u.machine_memory_bytes, u.machine_memory_available_bytes);
  EXPECT_GT(u.wall_seconds, 1.7e9);
}

TEST(Usage, SummaryHasMeansAndPeaks) {
  UsageSummary s;
  s.add({.machine_cpu_share = 0.5, .process_memory_bytes = 3, .process_memory_peak_bytes = 7});
  EXPECT_EQ(s.gpu_busy_share(), -1);
  s.add({.machine_cpu_share = 1.0,
         .process_memory_peak_bytes = 5,
         .gpus = {{.busy_share = 0.5, .memory_used_bytes = 10},
                  {.busy_share = 1.0, .memory_used_bytes = 20}}});
  EXPECT_EQ(s.machine_cpu_share(), 0.75);
  EXPECT_EQ(s.process_memory_peak_bytes(), 7);
  EXPECT_EQ(s.gpu_busy_share(), 0.75);
  EXPECT_EQ(s.gpu_memory_peak_bytes(), 30);
}

// fake_nvml.cc: two cards without a counter of energy, the second one without a power sensor.
TEST(GpuReader, AsksTheLibraryAndHidesOtherCards) {
  ::setenv("HONE_NVML", HONE_FAKE_NVML, 1);
  std::vector<GpuUsage> gpus = GpuReader::open()->read();
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].name, "Fake GPU");
  EXPECT_EQ(gpus[0].busy_share, 0.9);
  EXPECT_EQ(gpus[0].memory_used_bytes, int64_t{5} << 30);
  EXPECT_EQ(gpus[0].power_watts, 300);
  EXPECT_EQ(gpus[0].temperature_celsius, 61);
  EXPECT_EQ(gpus[0].sm_clock_mhz, 1980);
  EXPECT_EQ(gpus[1].power_watts, -1);
  EXPECT_EQ(gpus[0].energy_joules, -1);
  ::setenv("CUDA_VISIBLE_DEVICES", "GPU-fake-1", 1);
  gpus = GpuReader::open()->read();
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_EQ(gpus[0].index, 1);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ::setenv("HONE_NVML", "/nowhere/libnvidia-ml.so", 1);
  EXPECT_EQ(GpuReader::open(), nullptr);
  ::unsetenv("HONE_NVML");
}

}  // namespace
}  // namespace hone
