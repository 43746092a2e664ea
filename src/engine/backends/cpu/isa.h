// Which instruction set the kernels use. Every kernel file x.simd.h is compiled once per
// instruction set into a namespace of its own (see CMakeLists.txt); the public function picks one
// at run time.
#pragma once

#include <cstdint>

namespace hone::cpu {

enum class Isa : int { baseline = 0, avx2 = 1, avx512 = 2 };

// Best that this processor has, or what set_isa or HONE_CPU_ISA=baseline|avx2|avx512 asks for if
// the processor has that.
Isa isa();
const char* isa_name(Isa);
bool isa_supported(Isa);
// For tests and for reading a numerics manifest; must be supported (a bug otherwise).
void set_isa(Isa);

}  // namespace hone::cpu

// Defines RET NAME PARAMS in hone::cpu as a call of the chosen instruction set's function.
#if defined(__x86_64__)
#define HONE_CPU_DISPATCH(RET, NAME, PARAMS, ARGS) \
  namespace baseline {                             \
  RET NAME PARAMS;                                 \
  }                                                \
  namespace avx2 {                                 \
  RET NAME PARAMS;                                 \
  }                                                \
  namespace avx512 {                               \
  RET NAME PARAMS;                                 \
  }                                                \
  RET NAME PARAMS {                                \
    switch (isa()) {                               \
      case Isa::avx512:                            \
        return avx512::NAME ARGS;                  \
      case Isa::avx2:                              \
        return avx2::NAME ARGS;                    \
      default:                                     \
        return baseline::NAME ARGS;                \
    }                                              \
  }
#else
#define HONE_CPU_DISPATCH(RET, NAME, PARAMS, ARGS) \
  namespace baseline {                             \
  RET NAME PARAMS;                                 \
  }                                                \
  RET NAME PARAMS { return baseline::NAME ARGS; }
#endif
