// Writes a state dict into a file as torch.save does: docs/formats/torch.md.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "learn/checkpoint/safetensors/safetensors_writer.h"

namespace hone {

// Writes the tensors as an OrderedDict that torch.load(weights_only=True) and open_torch() read. Each tensor is
// contiguous and has its own storage. The file appears complete or not at all. Its folder must exist. TensorData::as
// must be none. Errors: those of the store.
Status save_torch(const std::string& path, std::span<const TensorData> tensors,
                  Store& store = file_store());

// As save_torch() above, for tensors whose `bytes` are empty: `read` fills `out` with the bytes of tensors[i] when they
// are written.
using ReadTensor = std::function<Status(size_t i, std::span<std::byte> out)>;
Status save_torch(const std::string& path, std::span<const TensorData> tensors,
                  const ReadTensor& read, Store& store = file_store());

}  // namespace hone
