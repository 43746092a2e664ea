// The backend that computes nothing. It accepts the nodes of the backend that it stands for and
// needs the same scratch memory, so that a run can be planned on a machine that could never hold
// it.
#pragma once

#include "engine/device/backend.h"

namespace hone {

// Chooses kernels for a device that need not be here.
using Chooser = std::function<Result<Choice>(const NodeView& n)>;
// Backend::join of that device; null: it joins nothing.
using Joiner = bool (*)(Program& p);

class NullBackend : public Backend {
 public:
  // Accepts every op without scratch.
  NullBackend() = default;
  // Accepts what `like` accepts, which must outlive it.
  explicit NullBackend(const Backend* like) : like_(like) {}
  // Accepts what the chooser accepts for the device.
  NullBackend(Chooser chooser, DeviceSpec spec, Joiner joiner = nullptr)
      : chooser_(std::move(chooser)), joiner_(joiner), spec_(std::move(spec)) {}

  std::string_view name() const override { return "null"; }
  Result<Choice> choose(const NodeView& n) const override;
  Result<Kernel> kernel(const NodeView& n) const override;
  size_t decomposition(const NodeView& n) const override {
    return like_ ? like_->decomposition(n) : 0;
  }
  bool join(Program& p) const override {
    return like_ ? like_->join(p) : joiner_ != nullptr && joiner_(p);
  }
  Device& device() const override;
  const DeviceSpec& spec() const override { return like_ ? like_->spec() : spec_; }
  bool computes() const override { return false; }
  std::string description() const override;

 private:
  const Backend* like_ = nullptr;
  Chooser chooser_;
  Joiner joiner_ = nullptr;
  DeviceSpec spec_;
};

}  // namespace hone
