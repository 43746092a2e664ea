// Runs a CUDA kernel on the CPU: a fibre for each thread that waits, block after block. Kernels are
// the same source as on a GPU (emulate.h gives them CUDA's words).
//
//   run_grid({.grid = {8}, .block = {256}, .order = Order::backward}, [&] { kernel(x, y, n); });
//
// Undefined behaviour of CUDA is an error here if it can be detected: a barrier that some threads
// of a block or lanes of a warp do not reach. Threads run one after another until they wait, in an
// order that can be chosen: a kernel that lacks a barrier gives other results in another order.
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

enum class Order { forward, backward, shuffled };

struct Grid {
  Dim3 grid = {}, block = {};
  int64_t shared_bytes = 0;  // of `extern __shared__`
  Order order = Order::forward;
};

// Calls `thread` once as each thread of the grid. A Bug names the first block that goes wrong.
void run_grid(const Grid& grid, FunctionRef<void()> thread);

// For the thread that runs; kernels have them by CUDA's words (emulate.h).
struct Here {
  Dim3 thread, block, block_dim, grid_dim;
};
const Here& here();
std::byte* shared_bytes();

void sync_threads();
void sync_warp(unsigned mask);
// Every lane of the mask gives a value, and gets what `lane` gave; from outside of the block its
// own.
uint64_t exchange(unsigned mask, uint64_t value, unsigned lane);
unsigned ballot(unsigned mask, bool value);
// Every lane of a whole warp gives a pointer; the last one calls `all` with those of the 32 lanes.
void together(void* mine, FunctionRef<void(void* const* lanes)> all);
unsigned lane_of_here();

// Asynchronous copies of 16 bytes by this thread (cp.async): those from `bytes` on are zeros. They are done when the
// thread waits after a commit; until then the place holds anything.
void copy_later(void* to, const void* from, int bytes);
void commit_copies();
void finish_copies();

// By their names, the kernels of a module. Arguments are as cuLaunchKernel takes them.
struct Function {
  std::string name;
  void (*run)(void** arguments) = nullptr;
  std::span<const size_t> argument_bytes = {};  // the size of each argument
};
const Function* find_function(const std::string& name);  // nullptr: there is none
// For static objects in the files that have kernels (add<kernel>(name) of emulate.h); a name that
// is there already is a Bug.
bool add_function(const Function& function);

}  // namespace hone::emulate
