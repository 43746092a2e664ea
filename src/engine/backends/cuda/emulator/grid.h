// Runs a CUDA kernel on the CPU, one block after another; each thread that waits keeps a fibre (a stack of
// its own). The source of a kernel is the same as for a GPU (emulate.h defines CUDA's keywords).
//
//   run_grid({.grid = {8}, .block = {256}, .order = Order::backward}, [&] { kernel(x, y, n); });
//
// A barrier that some threads of a block, or lanes of a warp, do not reach is undefined behaviour in CUDA;
// here run_grid() throws a Bug. Threads run one after another until they wait. A kernel that lacks a barrier
// gives different results with a different Order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/core/threads.h"

namespace hone::emulate {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

// The order in which the threads of a block run.
enum class Order { forward, backward, shuffled };

struct Grid {
  Dim3 grid = {}, block = {};  // blocks of the grid, threads of a block
  int64_t shared_bytes = 0;    // dynamic shared memory of a block (`extern __shared__`)
  Order order = Order::forward;
};

// Calls `thread` once for each thread of the grid. Throws a Bug at a missed barrier; its text names the block.
void run_grid(const Grid& grid, FunctionRef<void()> thread);

// The functions below are for the emulated thread that runs now. Kernels call them by CUDA's names (emulate.h).

// threadIdx, blockIdx, blockDim and gridDim.
struct Here {
  Dim3 thread, block, block_dim, grid_dim;
};
const Here& here();
std::byte* shared_bytes();  // the block's dynamic shared memory

void sync_threads();            // __syncthreads()
void sync_warp(unsigned mask);  // __syncwarp()
// Every lane of the mask passes a value, and gets the value that lane number `lane` passes. If lane number `lane` is
// not in the mask, the caller gets its own value.
uint64_t exchange(unsigned mask, uint64_t value, unsigned lane);
unsigned ballot(unsigned mask, bool value);  // __ballot_sync()
// All 32 lanes of a warp must call it, each with a pointer. The last lane to call it runs `all` with the 32 pointers,
// in the order of the lanes.
void together(void* mine, FunctionRef<void(void* const* lanes)> all);
unsigned lane_of_here();  // 0 to 31

// CUDA's asynchronous copies (cp.async). copy_later() starts a copy of 16 bytes by this thread: the first `bytes` come
// from `from`, the rest are zeros. finish_copies() completes the copies that were started before the last
// commit_copies(). Until then `to` holds undefined bytes.
void copy_later(void* to, const void* from, int bytes);
void commit_copies();
void finish_copies();

// A kernel of the process, compiled for the CPU.
struct Function {
  std::string name;
  // Runs the kernel as one thread. arguments: the address of each argument, in the form of cuLaunchKernel.
  void (*run)(void** arguments) = nullptr;
  std::span<const size_t> argument_bytes = {};  // the size of each argument
};
const Function* find_function(const std::string& name);  // nullptr: no kernel has the name
// Registers a kernel and returns true. Static objects call it (add<kernel>(name) of emulate.h). A name that is already
// registered is a bug.
bool add_function(const Function& function);

}  // namespace hone::emulate
