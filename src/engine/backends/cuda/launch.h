// The CUDA backend's work for a node, as data: kernels of ../kernels by their names, with grids and
// arguments. It is made without a device, and checked before one is used.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/backends/cuda/kernels/arguments.h"
#include "engine/backends/cuda/libraries/blas.h"
#include "engine/device/backend.h"

namespace hone::cuda {

struct LaunchArgument {
  enum class Of { input, output, workspace, value };
  Of of = Of::value;
  size_t index = 0;    // of the input or output
  int64_t offset = 0;  // bytes from its beginning
  std::vector<std::byte> value = {};
  // Addresses in the value, by their place in it.
  struct Address {
    size_t at = 0;
    Of of = Of::input;
    size_t index = 0;
    int64_t offset = 0;
  };
  std::vector<Address> addresses = {};

  static LaunchArgument input(size_t i, int64_t offset = 0) {
    return {.of = Of::input, .index = i, .offset = offset};
  }
  static LaunchArgument output(size_t k, int64_t offset = 0) {
    return {.of = Of::output, .index = k, .offset = offset};
  }
  static LaunchArgument work(int64_t offset = 0) { return {.of = Of::workspace, .offset = offset}; }
  // T must be the type of the kernel's parameter.
  template <class T>
  static LaunchArgument of_value(T x) {
    static_assert(std::is_trivially_copyable_v<T>);
    LaunchArgument a;
    a.value.resize(sizeof(T));
    std::memcpy(a.value.data(), &x, sizeof(T));
    return a;
  }
  static LaunchArgument null() { return of_value<void*>(nullptr); }
};

struct Launch {
  std::string kernel;
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = kBlock, block_y = 1;
  int shared_bytes = 0;  // dynamic shared memory
  // Replaces the kernel, with arguments x, y, bias (or the sums that it makes), onto, z, workspace, pre. A kernel after
  // it computes a gelu that the library lacks.
  std::optional<LibraryProduct> library = {};
  bool only_apart = false;  // skipped if its first two arguments are the same bytes
  std::vector<LaunchArgument> arguments = {};

  explicit Launch(std::string name) : kernel(std::move(name)) {}
  Launch& argument(LaunchArgument a) {
    arguments.push_back(std::move(a));
    return *this;
  }
  Launch& in(size_t i, int64_t offset = 0) { return argument(LaunchArgument::input(i, offset)); }
  Launch& out(size_t k, int64_t offset = 0) { return argument(LaunchArgument::output(k, offset)); }
  Launch& work(int64_t offset = 0) { return argument(LaunchArgument::work(offset)); }
  Launch& none() { return argument(LaunchArgument::null()); }
  template <class T>
  Launch& value(T x) {
    return argument(LaunchArgument::of_value(x));
  }
  // One thread for each of n elements, up to a sensible number; kernels stride over the rest.
  Launch& over(int64_t n);
  // The same where a block's turn has kMapped elements.
  Launch& mapped(int64_t n);
  // A block for each of n.
  Launch& blocks(int64_t n);
};

}  // namespace hone::cuda
