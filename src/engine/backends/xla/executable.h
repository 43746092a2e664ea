// The Executable of a PJRT device. All programs are compiled before the first run. The arrays of states
// stay on the device between runs, and are donated to the programs that write them.
#pragma once

#include "engine/backends/xla/device.h"
#include "engine/device/executable.h"

namespace hone::xla {

// Compiles lowered programs. With several ranks all of them must call it. Errors: H1363 a program does not compile,
// H1401 the ranks' programs differ too much to be one module, H1502 a rank has ended.
Result<std::unique_ptr<Executable>> make_executable(XlaDevice& device,
                                                    std::span<const Program> programs,
                                                    const RunPlan& plan);

}  // namespace hone::xla
