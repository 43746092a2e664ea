// What the backend starts for an op: tables, which files of this room fill.
#pragma once

#include <algorithm>
#include <functional>
#include <map>

#include "engine/backends/cuda/launch.h"

namespace hone::cuda {

// Kernels, in the order in which they run; none where there is nothing to do.
struct Launches {
  std::vector<Launch> launches;
  int64_t workspace_bytes = 0;
};
// An Error of code kDeclined for what has no kernel.
Result<Launches> launches_of(const NodeView& n);

using LaunchTable =
    std::map<std::string, std::function<Result<Launches>(const NodeView&)>, std::less<>>;

void add_elementwise(LaunchTable& t);
void add_moves(LaunchTable& t);
void add_sums(LaunchTable& t);
void add_random(LaunchTable& t);
void add_blocks(LaunchTable& t);
void add_activations(LaunchTable& t);
void add_norms(LaunchTable& t);
void add_rows(LaunchTable& t);
void add_updates(LaunchTable& t);

Error no_kernel(const NodeView& n, std::string_view why);
// Row-major strides, in elements.
std::vector<int64_t> strides_of(const Shape& shape);

inline Launches one(Launch launch) { return {{std::move(launch)}, 0}; }
// "exp_f32": a kernel of an element type.
inline std::string kernel_of(std::string_view name, DType t) {
  return fmt::format("{}_{}", name, name_of(t));
}
inline std::string kernel_of_size(std::string_view name, DType t) {
  return fmt::format("{}_{}", name, size_of(t));
}
// The floats that fused kernels take; f64 is decomposed.
inline bool is_fused(DType t) { return is_float(t) && t != DType::f64; }
// Whether `t` is one of those.
inline bool is_one_of(DType t, std::initializer_list<DType> types) {
  return std::find(types.begin(), types.end(), t) != types.end();
}

}  // namespace hone::cuda
