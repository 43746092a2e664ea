// The instruction set that the CPU kernels use. Every kernel file x.simd.h is compiled once per
// instruction set into a namespace of its own (see CMakeLists.txt). The public function of a kernel
// calls the function of the instruction set isa() at run time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone::cpu {

// Each includes the instructions of those before it. avx512_bf16 and amx differ from avx512 only in matrix products.
enum class Isa : int { baseline, avx2, avx512, avx512_bf16, amx };

// The instruction set in use by this process: that of set_isa(); else the best of this processor, but not better than
// HONE_CPU_ISA=baseline|avx2|avx512|avx512_bf16|amx if that is set.
Isa isa();
std::string wanted_isa();  // HONE_CPU_ISA, "" if it is unset; isa() ignores an unknown name
const char* isa_name(Isa);
bool isa_is_known(std::string_view name);
std::string isa_names();  // all names, separated by commas: "baseline, avx2, ..."
bool isa_supported(Isa);  // whether this processor and the system support it
// Whether the instruction set in use multiplies bf16. If not, a product in bf16 takes longer than one in f32.
inline bool bf16_is_fast() { return isa() >= Isa::avx512_bf16; }
// Sets the instruction set of all kernels from now on. isa_supported() must be true for it, else it is a bug.
void set_isa(Isa);

}  // namespace hone::cpu

// HONE_CPU_DISPATCH(RET, NAME, PARAMS, ARGS) defines a function RET NAME PARAMS in hone::cpu that calls the
// function of this name in the namespace of isa(). It is for functions that are compiled for baseline, avx2
// and avx512. HONE_CPU_DISPATCH_BF16 is for functions that are compiled for all instruction sets.
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
