// Weights of another source under other names, shapes or values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// A tensor is read from the base under the name that it has there, unless a derived class reads it.
class DerivedWeights : public WeightSource {
 public:
  const WeightSource& base() const { return *base_; }
  // Adds a tensor of the base as it is.
  void keep(const TensorInfo& info) { take(info, info.name); }

 protected:
  explicit DerivedWeights(std::unique_ptr<WeightSource> base) : base_(std::move(base)) {
    metadata_ = base_->metadata();
  }
  // Adds a tensor whose bytes are those of the base's tensor `of`; "": read_elements_of of the derived class makes
  // them.
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
  std::vector<std::string> names_;  // in the base; beside tensors_
};

}  // namespace hone
