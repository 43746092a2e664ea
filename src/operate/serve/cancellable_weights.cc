#include "operate/serve/cancellable_weights.h"

#include "operate/serve/engine.h"

namespace hone {
namespace {

class CancellableWeights : public WeightSource {
 public:
  CancellableWeights(std::unique_ptr<WeightSource> inner, std::function<bool()> cancelled)
      : inner_(std::move(inner)), cancelled_(std::move(cancelled)) {
    for (const TensorInfo& t : inner_->tensors()) add(t);
    metadata_ = inner_->metadata();
  }

 protected:
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override {
    if (cancelled_()) return server_ends();
    return inner_->read(tensors_[index].name, as, out);
  }
  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override {
    if (cancelled_()) return server_ends();
    return inner_->read_range(tensors_[index].name, as, first, out);
  }
  Status read_blocks_of(size_t index, std::string_view part, int64_t first,
                        std::span<std::byte> out) const override {
    if (cancelled_()) return server_ends();
    return inner_->read_blocks(tensors_[index].name, part, first, out);
  }

 private:
  std::unique_ptr<WeightSource> inner_;
  std::function<bool()> cancelled_;
};

}  // namespace

std::unique_ptr<WeightSource> cancellable_weights(std::unique_ptr<WeightSource> weights,
                                                  std::function<bool()> cancelled) {
  return std::make_unique<CancellableWeights>(std::move(weights), std::move(cancelled));
}

}  // namespace hone
