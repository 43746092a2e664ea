// The CPU backend: fused kernels for the composites, plain threaded loops for the primitives.
#pragma once

#include <memory>

#include "engine/device/backend.h"

namespace hone {

// threads: 0 for all that this process may use. isa: "" for the best that this processor has, else
// one of HONE_CPU_ISA's names, for the whole process. H1402: unknown, or not on this processor.
// Its kernels decline with H1401.
Result<std::unique_ptr<Backend>> open_cpu_backend(int threads, const std::string& isa = "");

// The needs of the CPU's kernels on a machine of this spec, with the instruction set in use here.
Result<Choice> choose_cpu(const NodeView& n, const DeviceSpec& spec);
// This machine, without its speed.
DeviceSpec cpu_spec(int threads);

}  // namespace hone
