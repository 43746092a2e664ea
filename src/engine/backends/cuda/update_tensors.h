// Arguments of the optimizer kernels of update.cuh and lamb.cuh. One launch of such a kernel updates several tensors.
#pragma once

#include <array>

#include "engine/backends/cuda/launch_tables.h"

namespace hone::cuda {

// The part of a tensor that a node updates: elements [first, first + size). The optimizer states have `size` elements.
struct UpdatedPart {
  size_t i = 0, g = 0;  // numbers of the operands with the weight and the gradient
  int64_t first = 0, size = 0;
};

// Collects the tensors of one launch. The node must outlive the object.
class UpdateTensors {
 public:
  // Sets the types of weights and gradients to those of `first`. add() must still be called for `first`.
  UpdateTensors(const NodeView& n, const UpdatedPart& first, const Update& rule);
  // Whether fewer than kMostUpdated tensors were added, and the part's types are those of `first`.
  bool takes(const UpdatedPart& part) const;
  // Adds a tensor. takes() must be true for it. u: the settings of this tensor's update. The kernel's states[s] is this
  // tensor's entry in list number lists[s] of the node's states; -1: states[s] is null.
  void add(const UpdatedPart& part, const Update& u, const std::array<int, 3>& lists);

  // The struct Updates as an argument of the kernel; its addresses are filled in when the kernel starts.
  LaunchArgument argument() const;
  DType weights() const { return p_; }
  DType gradients() const { return g_; }
  unsigned count() const { return static_cast<unsigned>(all_.count); }
  unsigned blocks() const { return static_cast<unsigned>(blocks_); }
  int64_t most_blocks() const { return blocks_; }

 private:
  const NodeView& n_;
  DType p_, g_;
  Updates all_{};
  int64_t blocks_ = 0;
  std::vector<LaunchArgument::Address> addresses_;
};

// Computes beta1^step and beta2^step in f64, and writes them to the first kPowerBytes of the workspace for later
// launches.
constexpr int64_t kPowerBytes = 2 * sizeof(double);
Launch powers_launch(const NodeView& n);

}  // namespace hone::cuda
