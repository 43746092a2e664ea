// A source of tensors that opens a tensor's file for each read and closes it again. A checkpoint may have thousands of
// files, more than a process may have open.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "learn/checkpoint/torch/torch_object.h"

namespace hone {

class LazyTensors final : public WeightSource {
 public:
  // The name of the tensor in the source that Open returns.
  static constexpr const char* kName = "tensor";
  // Opens the file of one tensor.
  using Open = std::function<Result<std::unique_ptr<WeightSource>>()>;

  // Adds a tensor with this info. A read gives H2214 if the opened tensor's type differs from info.type.
  void add_lazy(TensorInfo info, Open open);

 protected:
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override;
  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override;

 private:
  Result<std::unique_ptr<WeightSource>> open(size_t index) const;
  std::vector<Open> opens_;  // opens_[i] belongs to tensors_[i]
};

// Presents the bytes [offset, offset + bytes) of `file` as a whole file. `file` must have all these bytes.
std::unique_ptr<ByteFile> part_of_file(std::unique_ptr<ByteFile> file, int64_t offset,
                                       int64_t bytes);
// Opens a file of torch.save that holds one tensor, or a dict with the tensor under `key`. The source has this tensor
// under the name LazyTensors::kName. H2214: the file holds no tensor. Errors of TorchObject::open().
Result<std::unique_ptr<WeightSource>> open_one_tensor(std::unique_ptr<ByteFile> file,
                                                      const char* key = "");

}  // namespace hone
