// Tensors that one launch of update.cuh or lamb.cuh updates, and the powers of beta before such launches.
#pragma once

#include <array>

#include "engine/backends/cuda/launch_tables.h"

namespace hone::cuda {

// One of the tensors that a node updates: its elements [first, first + size), to which its states
// belong.
struct UpdatedPart {
  size_t i = 0, g = 0;
  int64_t first = 0, size = 0;
};

// The argument of a launch, whose addresses are filled in when it starts.
class UpdateTensors {
 public:
  UpdateTensors(const NodeView& n, const UpdatedPart& first, const Update& rule);
  // Whether there is room, and the part has the types of the others.
  bool takes(const UpdatedPart& part) const;
  // lists: which list of states each of the kernel's three is; -1: none.
  void add(const UpdatedPart& part, const Update& u, const std::array<int, 3>& lists);

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

// Makes beta1^step and beta2^step, kPowerBytes at the beginning of the workspace.
constexpr int64_t kPowerBytes = 2 * sizeof(double);
Launch powers_launch(const NodeView& n);

}  // namespace hone::cuda
