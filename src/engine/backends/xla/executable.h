// Programs compiled by a plug-in as an Executable: all are compiled before the first run, and a run
// compiles nothing. Arrays of states stay on the device between runs and are
// donated to the programs that write them.
#pragma once

#include "engine/backends/xla/device.h"
#include "engine/device/executable.h"

namespace hone::xla {

Result<std::unique_ptr<Executable>> make_executable(XlaDevice& device,
                                                    std::span<const Program> programs,
                                                    const RunPlan& plan);

}  // namespace hone::xla
