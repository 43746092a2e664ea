// The kernels, compiled for the CPU, by their names (engine/backends/cuda/emulator/grid.h).
#pragma once

namespace hone::cuda {

// Call it once, so that the linker keeps them.
void add_emulated_kernels();

}  // namespace hone::cuda
