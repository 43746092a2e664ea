// The backend that computes nothing: it accepts what its model accepts and asks for the same
// scratch, so that a run can be planned on a machine that could never hold it.
#pragma once

#include "engine/device/backend.h"

namespace hone {

class NullBackend : public Backend {
 public:
  // `like`: the backend whose kernels are planned for; nullptr accepts every op without scratch.
  explicit NullBackend(const Backend* like = nullptr) : like_(like) {}
  std::string_view name() const override { return "null"; }
  Result<Kernel> kernel(const NodeView& n) const override;
  bool computes() const override { return false; }
  std::string description() const override;

 private:
  const Backend* like_;
};

}  // namespace hone
