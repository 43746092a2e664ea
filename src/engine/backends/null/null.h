// The backend that computes nothing. It stands for another backend: it accepts the same nodes and
// asks for the same scratch memory, so a machine can plan a run that it is too small to execute.
#pragma once

#include "engine/device/backend.h"

namespace hone {

// Backend::choose() of a device; this machine need not have the device.
using Chooser = std::function<Result<Choice>(const NodeView& n)>;
// Backend::join() for this kind of device; null: no nodes are joined.
using Joiner = bool (*)(Program& p);

class NullBackend : public Backend {
 public:
  // Accepts every op, without scratch memory.
  NullBackend() = default;
  // Accepts the nodes that `like` accepts. `like` must outlive this object.
  explicit NullBackend(const Backend* like) : like_(like) {}
  // Accepts the nodes that the chooser accepts; spec() returns `spec`.
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
