// The CPU backend: fused kernels for composite ops such as attention, plain threaded loops for primitive ops.
#pragma once

#include <memory>

#include "engine/device/backend.h"

namespace hone {

// Opens the backend. threads: 0 for all that this process may use. isa: the instruction set of the kernels (a name of
// isa/isa.h), set for the whole process; "": the one in use stays (isa()). H1402: the instruction set is unknown, or
// this processor lacks it. The backend's choose() and kernel() decline nodes that they do not support with H1401.
Result<std::unique_ptr<Backend>> open_cpu_backend(int threads, const std::string& isa = "");

// Chooses a node's kernel, for a CPU of this spec and for the instruction set that this process uses. H1401: no kernel.
Result<Choice> choose_cpu(const NodeView& n, const DeviceSpec& spec);
// The facts of this machine's CPU, without its measured speeds. threads: 0 for all that this process may use.
DeviceSpec cpu_spec(int threads);

}  // namespace hone
