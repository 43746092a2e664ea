#include "engine/backends/cpu/isa/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "base/core/error.h"

namespace hone::cpu {
namespace {

std::atomic<int> chosen{-1};

constexpr Isa kBestFirst[] = {Isa::amx, Isa::avx512_bf16, Isa::avx512, Isa::avx2, Isa::baseline};

Isa best() {
  const std::string wanted = wanted_isa();
  bool reached = !isa_is_known(wanted);
  for (Isa i : kBestFirst) {
    reached = reached || wanted == isa_name(i);
    if (reached && isa_supported(i)) return i;
  }
  return Isa::baseline;
}

#if defined(__x86_64__)
struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};
Leaf leaf(unsigned number, unsigned sub) {
  Leaf l;
  __get_cpuid_count(number, sub, &l.eax, &l.ebx, &l.ecx, &l.edx);
  return l;
}

bool amx_permitted() {  // Linux gives each process the tiles' registers when it asks for them
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  static const bool granted = ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return granted;
}
#endif

}  // namespace

Isa isa() {
  int i = chosen.load(std::memory_order_relaxed);
  if (i < 0) chosen.store(i = static_cast<int>(best()), std::memory_order_relaxed);
  return static_cast<Isa>(i);
}

const char* isa_name(Isa i) {
  constexpr const char* names[] = {"baseline", "avx2", "avx512", "avx512_bf16", "amx"};
  return names[static_cast<int>(i)];
}

std::string wanted_isa() {
  const char* wanted = std::getenv("HONE_CPU_ISA");
  return wanted == nullptr ? "" : wanted;
}

bool isa_is_known(std::string_view name) {
  return std::any_of(std::begin(kBestFirst), std::end(kBestFirst),
                     [&](Isa i) { return name == isa_name(i); });
}

std::string isa_names() {
  std::string names;
  for (const Isa i : kBestFirst) names = isa_name(i) + (names.empty() ? "" : ", " + names);
  return names;
}

bool isa_supported(Isa i) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (i == Isa::avx2) return avx2;
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (i == Isa::avx512) return avx512;
  const bool bf16 = avx512 && (leaf(7, 1).eax >> 5 & 1) != 0;
  if (i == Isa::avx512_bf16) return bf16;
  const unsigned tiles = 1u << 22 | 1u << 24;  // AMX-BF16, AMX-TILE
  if (i == Isa::amx) return bf16 && (leaf(7, 0).edx & tiles) == tiles && amx_permitted();
#endif
  return i == Isa::baseline;
}

void set_isa(Isa i) {
  HONE_BUG_IF(!isa_supported(i), "instruction set {} is not on this processor", isa_name(i));
  chosen.store(static_cast<int>(i), std::memory_order_relaxed);
}

}  // namespace hone::cpu
