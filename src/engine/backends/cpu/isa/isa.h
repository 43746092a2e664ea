// The instruction set that the kernels use. Every kernel file x.simd.h is compiled once per
// instruction set into a namespace of its own (see CMakeLists.txt); the public function picks one
// at run time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone::cpu {

// Each includes those before it; the last two differ from avx512 in matrix products alone.
enum class Isa : int { baseline, avx2, avx512, avx512_bf16, amx };

// The best that this processor has, up to the one that
// HONE_CPU_ISA=baseline|avx2|avx512|avx512_bf16|amx names; or that of set_isa.
Isa isa();
std::string wanted_isa();  // HONE_CPU_ISA, "" when it is not set; isa() ignores an unknown name
const char* isa_name(Isa);
bool isa_is_known(std::string_view name);
std::string isa_names();  // the known sets: "baseline, avx2, ..."
bool isa_supported(Isa);
// Whether the processor multiplies bf16 itself; elsewhere it takes longer than f32.
inline bool bf16_is_fast() { return isa() >= Isa::avx512_bf16; }
// For tests and for reading a numerics manifest; must be supported (a bug otherwise).
void set_isa(Isa);

}  // namespace hone::cpu

// HONE_CPU_DISPATCH(RET, NAME, PARAMS, ARGS) defines RET NAME PARAMS in hone::cpu as a call of the
// chosen instruction set's function, HONE_CPU_DISPATCH_BF16 of one that knows all of them.
#define HONE_CPU_DECLARE(ISA, RET, NAME, PARAMS) \
  namespace ISA {                                \
  RET NAME PARAMS;                               \
  }
#if defined(__x86_64__)
#define HONE_CPU_DISPATCH(RET, NAME, PARAMS, ARGS) \
  HONE_CPU_DECLARE(baseline, RET, NAME, PARAMS)    \
  HONE_CPU_DECLARE(avx2, RET, NAME, PARAMS)        \
  HONE_CPU_DECLARE(avx512, RET, NAME, PARAMS)      \
  RET NAME PARAMS {                                \
    switch (isa()) {                               \
      case Isa::baseline:                          \
        return baseline::NAME ARGS;                \
      case Isa::avx2:                              \
        return avx2::NAME ARGS;                    \
      default:                                     \
        return avx512::NAME ARGS;                  \
    }                                              \
  }
#define HONE_CPU_DISPATCH_BF16(RET, NAME, PARAMS, ARGS) \
  HONE_CPU_DECLARE(baseline, RET, NAME, PARAMS)         \
  HONE_CPU_DECLARE(avx2, RET, NAME, PARAMS)             \
  HONE_CPU_DECLARE(avx512, RET, NAME, PARAMS)           \
  HONE_CPU_DECLARE(avx512_bf16, RET, NAME, PARAMS)      \
  HONE_CPU_DECLARE(amx, RET, NAME, PARAMS)              \
  RET NAME PARAMS {                                     \
    switch (isa()) {                                    \
      case Isa::baseline:                               \
        return baseline::NAME ARGS;                     \
      case Isa::avx2:                                   \
        return avx2::NAME ARGS;                         \
      case Isa::avx512:                                 \
        return avx512::NAME ARGS;                       \
      case Isa::avx512_bf16:                            \
        return avx512_bf16::NAME ARGS;                  \
      case Isa::amx:                                    \
        return amx::NAME ARGS;                          \
    }                                                   \
    __builtin_unreachable();                            \
  }
#else
#define HONE_CPU_DISPATCH(RET, NAME, PARAMS, ARGS) \
  HONE_CPU_DECLARE(baseline, RET, NAME, PARAMS)    \
  RET NAME PARAMS { return baseline::NAME ARGS; }
#define HONE_CPU_DISPATCH_BF16 HONE_CPU_DISPATCH
#endif
