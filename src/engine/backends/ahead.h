// Compiles a rank's program for a TPU and reports the memory that the compiler gives it. The machine needs libtpu, but
// not a TPU.
#pragma once

#include "engine/device/backend.h"
#include "engine/device/tpus.h"

namespace hone {

// The device memory of one compiled program, as reported by libtpu and as planned by hone.
struct AheadMemory {
  std::string program;  // the program's name
  // libtpu's numbers: arguments, results, scratch memory and machine code.
  int64_t argument_bytes = 0, output_bytes = 0, temporary_bytes = 0, code_bytes = 0;
  int64_t alias_bytes = 0;  // libtpu's number: results that are written over arguments
  int64_t text_bytes = 0;   // length of the program's StableHLO text
  // hone's plan. planned_bytes: states (such as weights), values and code, without the padding of arrays to tiles.
  // planned_code_bytes: the code's part of planned_bytes.
  int64_t planned_bytes = 0, planned_code_bytes = 0;
  double seconds = 0;  // time of the compilation
  // The sum of libtpu's numbers. Results that are written over arguments count once.
  int64_t device_bytes() const {
    return argument_bytes + output_bytes - alias_bytes + temporary_bytes + code_bytes;
  }
};

// Compiles a program once for all devices of the slice. `program`: that of the last rank, which holds the most rows
// of every tensor. Errors: H1361 libtpu is not installed; H1363 the program does not fit into a device's memory, or
// libtpu does not know the slice; H1401 an op cannot be written in StableHLO.
Result<AheadMemory> compile_ahead(const TpuSlice& slice, Program program);

}  // namespace hone
