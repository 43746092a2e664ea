#include "engine/device/spec.h"

#include <array>

namespace hone {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr double kTera = 1e12, kGiga = 1e9;

DeviceSpec gpu(const char* name, int64_t mib, double f32_tera, double bf16_tera, double giga,
               const char* isa, int64_t workspace_mib) {
  DeviceSpec s;
  s.name = name;
  s.kernels = "cuda";
  s.memory_bytes = mib * kMiB;
  s.own_memory = true;
  s.f32_flops = f32_tera * kTera;
  s.bf16_flops = bf16_tera * kTera;
  s.bytes_per_second = giga * kGiga;
  s.isa = isa;
  s.multiplies_bf16 = bf16_tera > f32_tera;
  s.workspace_bytes = workspace_mib * kMiB;
  s.runtime_bytes = 1024 * kMiB;
  return s;
}

}  // namespace

// V100 and T4 have no bf16 products: those of f32 operands rounded to bf16 run at f32's speed.
std::span<const DeviceSpec> known_gpus() {
  static const std::array<DeviceSpec, 6> gpus{gpu("H100", 81559, 66.9, 989.4, 3350, "sm_90", 32),
                                              gpu("A100-80GB", 81050, 19.5, 312, 2039, "sm_80", 32),
                                              gpu("A100-40GB", 40536, 19.5, 312, 1555, "sm_80", 32),
                                              gpu("L4", 23034, 30.3, 121, 300, "sm_89", 32),
                                              gpu("V100-16GB", 16160, 15.7, 15.7, 900, "sm_70", 8),
                                              gpu("T4", 15109, 8.1, 8.1, 320, "sm_75", 8)};
  return gpus;
}

int64_t memory_of(const RunPlan& plan, const DeviceSpec& spec) {
  return plan.arena_bytes(Space::device) + (spec.own_memory ? 0 : plan.arena_bytes(Space::host));
}

}  // namespace hone
