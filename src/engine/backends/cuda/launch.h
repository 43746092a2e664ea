// What the CUDA backend does for a node, as data: kernels of ../kernels by their names, with grids and
// arguments. It is made without a device, and checked before one is used.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/backends/cuda/blas/blas.h"
#include "engine/device/backend.h"

namespace hone::cuda {

inline constexpr int64_t kBlockThreads = 256;  // kBlock of kernels/kernel.cuh

struct LaunchArgument {
  enum class Of { input, output, workspace, value };
  Of of = Of::value;
  size_t index = 0;    // of the input or output
  int64_t offset = 0;  // bytes from its beginning
  std::vector<std::byte> value = {};
};

struct Launch {
  std::string kernel;
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = kBlockThreads, block_y = 1;
  int shared_bytes = 0;  // dynamic shared memory
  // Instead of a kernel, with arguments x, y, bias, onto, z, workspace.
  std::optional<LibraryProduct> library = {};
  bool only_apart = false;  // its first two arguments are the same bytes: it need not run
  std::vector<LaunchArgument> arguments = {};

  explicit Launch(std::string name) : kernel(std::move(name)) {}
  Launch& in(size_t i, int64_t offset = 0) {
    return add({.of = LaunchArgument::Of::input, .index = i, .offset = offset});
  }
  Launch& out(size_t k, int64_t offset = 0) {
    return add({.of = LaunchArgument::Of::output, .index = k, .offset = offset});
  }
  Launch& work(int64_t offset = 0) {
    return add({.of = LaunchArgument::Of::workspace, .offset = offset});
  }
  Launch& none() { return value<void*>(nullptr); }
  // The type must be that of the kernel's parameter.
  template <class T>
  Launch& value(T x) {
    static_assert(std::is_trivially_copyable_v<T>);
    LaunchArgument a;
    a.value.resize(sizeof(T));
    std::memcpy(a.value.data(), &x, sizeof(T));
    return add(std::move(a));
  }
  Launch& argument(LaunchArgument a) { return add(std::move(a)); }
  // A thread for each of n elements, as far as that makes sense; kernels stride over the rest.
  Launch& over(int64_t n);
  // A block for each of n.
  Launch& blocks(int64_t n);

 private:
  Launch& add(LaunchArgument a) {
    arguments.push_back(std::move(a));
    return *this;
  }
};

}  // namespace hone::cuda
