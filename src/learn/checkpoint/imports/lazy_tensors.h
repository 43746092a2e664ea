// Tensors whose files are opened for each read: a checkpoint may have thousands of files, more than a
// process may have open.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "learn/checkpoint/torch/torch_object.h"

namespace hone {

class LazyTensors final : public WeightSource {
 public:
  // Opens the source of one tensor, which has the name kName there.
  static constexpr const char* kName = "tensor";
  using Open = std::function<Result<std::unique_ptr<WeightSource>>()>;

  // `info`: of the tensor; a read is H2214 if the opened one has another type.
  void add_lazy(TensorInfo info, Open open);

 protected:
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override;
  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override;

 private:
  Result<std::unique_ptr<WeightSource>> open(size_t index) const;
  std::vector<Open> opens_;  // beside tensors_
};

// The part of a file from `offset` on. The file must end after it.
std::unique_ptr<ByteFile> part_of_file(std::unique_ptr<ByteFile> file, int64_t offset,
                                       int64_t bytes);
// A file of torch.save that is one tensor, or a dict with it under `key`: the tensor kName.
Result<std::unique_ptr<WeightSource>> open_one_tensor(std::unique_ptr<ByteFile> file,
                                                      const char* key = "");

}  // namespace hone
