// A state dict as torch.save writes it: docs/formats/torch.md.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "learn/checkpoint/safetensors/safetensors_writer.h"

namespace hone {

// Writes the tensors, contiguous and each with a storage of its own, as an OrderedDict that
// torch.load(weights_only=True) and open_torch read. The file appears whole or not at all; its
// folder must be there. TensorData::as must be empty.
Status save_torch(const std::string& path, std::span<const TensorData> tensors,
                  Store& store = file_store());

// Writes tensors that have no bytes yet: `read` supplies the bytes of tensors[i] when they are
// written.
using ReadTensor = std::function<Status(size_t i, std::span<std::byte> out)>;
Status save_torch(const std::string& path, std::span<const TensorData> tensors,
                  const ReadTensor& read, Store& store = file_store());

}  // namespace hone
