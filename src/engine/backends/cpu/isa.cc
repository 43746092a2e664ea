#include "engine/backends/cpu/isa.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/core/error.h"

namespace hone::cpu {
namespace {

std::atomic<int> chosen{-1};

Isa best() {
  const char* wish = std::getenv("HONE_CPU_ISA");
  for (Isa i : {Isa::avx512, Isa::avx2}) {
    if (!isa_supported(i)) continue;
    if (wish == nullptr || std::strcmp(wish, isa_name(i)) == 0) return i;
  }
  if (wish == nullptr || std::strcmp(wish, "baseline") == 0) return Isa::baseline;
  return isa_supported(Isa::avx2) ? Isa::avx2 : Isa::baseline;
}

}  // namespace

Isa isa() {
  int i = chosen.load(std::memory_order_relaxed);
  if (i < 0) chosen.store(i = static_cast<int>(best()), std::memory_order_relaxed);
  return static_cast<Isa>(i);
}

const char* isa_name(Isa i) {
  return i == Isa::avx512 ? "avx512" : i == Isa::avx2 ? "avx2" : "baseline";
}

bool isa_supported(Isa i) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (i == Isa::avx2) return avx2;
  if (i == Isa::avx512)
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
  return i == Isa::baseline;
}

void set_isa(Isa i) {
  HONE_BUG_IF(!isa_supported(i), "instruction set {} is not on this processor", isa_name(i));
  chosen.store(static_cast<int>(i), std::memory_order_relaxed);
}

}  // namespace hone::cpu
