// Memory of a rank's programs by the compiler of a TPU, which need not be here.
#pragma once

#include "engine/device/backend.h"
#include "engine/device/tpus.h"

namespace hone {

struct AheadMemory {
  std::string program;
  int64_t argument_bytes = 0, output_bytes = 0, temporary_bytes = 0, code_bytes = 0;
  int64_t alias_bytes = 0;  // results in the place of arguments
  int64_t text_bytes = 0;   // of StableHLO
  // Bytes of its states, its values and its code by hone's plan, which has no padding to tiles.
  int64_t planned_bytes = 0, planned_code_bytes = 0;
  double seconds = 0;  // of the compilation
  int64_t device_bytes() const {
    return argument_bytes + output_bytes - alias_bytes + temporary_bytes + code_bytes;
  }
};

// Compiles the program of the last rank, which has the most rows of every tensor, for all devices of the slice.
// Errors: H1361 without libtpu; H1363 the program does not fit, or libtpu does not know the slice; H1401 an op
// has no StableHLO.
Result<AheadMemory> compile_ahead(const TpuSlice& slice, Program program);

}  // namespace hone
