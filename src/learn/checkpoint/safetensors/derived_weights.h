// A base class for sources that present the tensors of another source, the base, under other names, with other shapes
// or with other values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// A read of a tensor becomes a read of one tensor of the base. A derived class overrides read_elements_of(), and
// read_tensor() if needed, for the tensors whose values it makes itself.
class DerivedWeights : public WeightSource {
 public:
  const WeightSource& base() const { return *base_; }
  // Adds a tensor of the base unchanged, under its own name.
  void keep(const TensorInfo& info) { take(info, info.name); }

 protected:
  explicit DerivedWeights(std::unique_ptr<WeightSource> base) : base_(std::move(base)) {
    metadata_ = base_->metadata();
  }
  // Adds a tensor with this info. `of`: the name of the base's tensor from which it is read; "": the derived class's
  // read_elements_of() makes its values.
  void take(TensorInfo info, std::string of) {
    add(std::move(info));
    names_.push_back(std::move(of));
  }

  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override {
    return names_[index].empty() ? read_elements_of(index, as, 0, out)
                                 : base_->read(names_[index], as, out);
  }
  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override {
    return base_->read_range(names_[index], as, first, out);
  }
  Status read_blocks_of(size_t index, std::string_view part, int64_t first,
                        std::span<std::byte> out) const override {
    return base_->read_blocks(names_[index], part, first, out);
  }

  const std::unique_ptr<WeightSource> base_;
  std::vector<std::string> names_;  // names_[i]: the argument `of` of take() for tensors_[i]
};

}  // namespace hone
