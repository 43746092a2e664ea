// The CUDA backend's work for a node, as data: names of kernels (cuda/kernels), with grids and arguments.
// Making it needs no GPU.
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

// One argument of a kernel: the address of an operand, of a result or in the workspace, or a value.
struct LaunchArgument {
  enum class Of { input, output, workspace, value };
  Of of = Of::value;
  size_t index = 0;    // number of the operand or result
  int64_t offset = 0;  // bytes from the beginning of the operand, result or workspace
  std::vector<std::byte> value = {};  // the bytes of an argument by value
  // An address inside `value`, such as a member of a struct. It is filled in when the kernel starts.
  struct Address {
    size_t at = 0;  // byte offset in `value`
    // The address to fill in, with the meanings of LaunchArgument::of, index and offset.
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
  std::string kernel;  // its name
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = kBlock, block_y = 1;
  int shared_bytes = 0;  // dynamic shared memory
  // Set: a cuBLASLt product runs instead of the kernel. `arguments` are then x, y, bias (or the result `sums`), onto,
  // z, workspace and pre, in this order; see LibraryProduct.
  std::optional<LibraryProduct> library = {};
  // true: the launch is a copy. It is skipped if its first two arguments are the same address.
  bool only_apart = false;
  std::vector<LaunchArgument> arguments = {};

  explicit Launch(std::string name) : kernel(std::move(name)) {}
  Launch& argument(LaunchArgument a) {
    arguments.push_back(std::move(a));
    return *this;
  }
  // Each appends one argument: operand i, result k, the workspace, a null pointer, or a value.
  Launch& in(size_t i, int64_t offset = 0) { return argument(LaunchArgument::input(i, offset)); }
  Launch& out(size_t k, int64_t offset = 0) { return argument(LaunchArgument::output(k, offset)); }
  Launch& work(int64_t offset = 0) { return argument(LaunchArgument::work(offset)); }
  Launch& none() { return argument(LaunchArgument::null()); }
  template <class T>
  Launch& value(T x) {
    return argument(LaunchArgument::of_value(x));
  }
  // Each sets grid_x to at most 65,536 blocks; the kernel loops over the rest.
  Launch& over(int64_t n);    // one thread for each of n elements
  Launch& mapped(int64_t n);  // one block for each kMapped of n elements
  Launch& blocks(int64_t n);  // n blocks
};

}  // namespace hone::cuda
