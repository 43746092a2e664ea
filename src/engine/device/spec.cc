#include "engine/device/spec.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

namespace hone {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr double kTera = 1e12, kGiga = 1e9;

// A line of a data sheet: name, MiB, TFLOP/s in f32, bf16 and f16, GB/s of memory, GB/s in one direction
// to the host (PCIe) and to a neighbour (NVLink, else PCIe), architecture.
struct Sheet {
  const char* name;
  int64_t mib;
  double f32_tera, bf16_tera, f16_tera, memory_giga, host_giga, peer_giga;
  const char* isa;
};

// V100 and T4 have no bf16 products: products of f32 operands rounded to bf16 run at f32's speed.
constexpr std::array<Sheet, 14> kSheets{{
    {"B200", 183359, 75, 2250, 2250, 7700, 64, 900, "sm_100"},
    {"H200", 143771, 66.9, 989.4, 989.4, 4800, 64, 450, "sm_90a"},
    {"H100", 81559, 66.9, 989.4, 989.4, 3350, 64, 450, "sm_90a"},
    {"A100-80GB", 81050, 19.5, 312, 312, 2039, 32, 300, "sm_80"},
    {"A100-40GB", 40536, 19.5, 312, 312, 1555, 32, 300, "sm_80"},
    {"RTX-A6000", 48140, 38.7, 154.8, 154.8, 768, 32, 32, "sm_86"},
    {"L40S", 45589, 91.6, 362, 362, 864, 32, 32, "sm_89"},
    {"RTX-4090", 24210, 82.6, 165.2, 165.2, 1008, 32, 32, "sm_89"},
    {"RTX-3090", 24131, 35.6, 71, 71, 936, 32, 32, "sm_86"},
    {"A10G", 22502, 31.2, 70, 70, 600, 32, 32, "sm_86"},
    {"L4", 23034, 30.3, 121, 121, 300, 32, 32, "sm_89"},
    {"V100-32GB", 32480, 15.7, 15.7, 125, 900, 16, 150, "sm_70"},
    {"V100-16GB", 16160, 15.7, 15.7, 125, 900, 16, 150, "sm_70"},
    {"T4", 15109, 8.1, 8.1, 65, 320, 16, 16, "sm_75"},
}};

constexpr double kHostMemoryGiga = 50;  // of a server with eight channels, if not measured
constexpr double kNvmeReadGiga = 3, kNvmeWriteGiga = 2;  // of one drive, if not measured

DeviceSpec gpu(const Sheet& sheet) {
  DeviceSpec s;
  describe_gpu(s, sheet.isa);
  s.name = sheet.name;
  s.memory_bytes = sheet.mib * kMiB;
  s.host_lane = HostLane::apart;
  s.f32_flops = sheet.f32_tera * kTera;
  s.bf16_flops = sheet.bf16_tera * kTera;
  s.f16_flops = sheet.f16_tera * kTera;
  s.bytes_per_second = sheet.memory_giga * kGiga;
  s.host_bytes_per_second = sheet.host_giga * kGiga;
  s.host_memory_bytes_per_second = kHostMemoryGiga * kGiga;
  s.peer_bytes_per_second = sheet.peer_giga * kGiga;
  s.disk_read_bytes_per_second = kNvmeReadGiga * kGiga;
  s.disk_write_bytes_per_second = kNvmeWriteGiga * kGiga;
  return s;
}

// "NVIDIA A100-SXM4-80GB" has the words of "A100-80GB".
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  return words;
}

}  // namespace

void describe_gpu(DeviceSpec& s, const std::string& isa) {
  s.kernels = "cuda";
  s.own_memory = s.keeps_narrow = true;
  s.isa = isa;
  const bool is_ampere = std::atoi(isa.c_str() + 3) >= 80;  // or later
  s.multiplies_bf16 = is_ampere;
  s.workspace_bytes = (is_ampere ? 32 : 8) * kMiB;
  s.runtime_bytes = 1024 * kMiB;
}

const DeviceSpec* known_gpu(std::string_view name) {
  const std::vector<std::string> all = words_of(name);
  for (const DeviceSpec& d : known_gpus()) {
    const std::vector<std::string> wanted = words_of(d.name);
    const auto is_there = [&](const std::string& w) {
      return std::find(all.begin(), all.end(), w) != all.end();
    };
    if (std::all_of(wanted.begin(), wanted.end(), is_there)) return &d;
  }
  return nullptr;
}

std::span<const DeviceSpec> known_gpus() {
  static const std::vector<DeviceSpec> gpus = [] {
    std::vector<DeviceSpec> all;
    for (const Sheet& sheet : kSheets) all.push_back(gpu(sheet));
    return all;
  }();
  return gpus;
}

int64_t memory_of(const RunPlan& plan, const DeviceSpec& spec) {
  return plan.arena_bytes(Space::device) + (spec.own_memory ? 0 : plan.arena_bytes(Space::host));
}

}  // namespace hone
