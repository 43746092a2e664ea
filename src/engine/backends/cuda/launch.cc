#include "engine/backends/cuda/launch.h"

#include <algorithm>

namespace hone::cuda {
namespace {
constexpr int64_t kMostBlocks = 1 << 16;
}  // namespace

Launch& Launch::over(int64_t n) { return blocks((n + kBlock - 1) / kBlock); }
Launch& Launch::mapped(int64_t n) { return blocks((n + kMapped - 1) / kMapped); }
Launch& Launch::blocks(int64_t n) {
  grid_x = static_cast<unsigned>(std::clamp<int64_t>(n, 1, kMostBlocks));
  return *this;
}

}  // namespace hone::cuda
