// Links hone's CUDA kernels, compiled for the CPU, into the program (find_function() of grid.h finds them).
#pragma once

namespace hone::cuda {

// Does nothing. A call keeps the linker from dropping the kernels, which only static objects register.
void add_emulated_kernels();

}  // namespace hone::cuda
