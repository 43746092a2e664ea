// For the fuzzers of PyTorch files: opening any bytes gives an Error, or a source whose tensors can all be read.
#pragma once

#include "learn/checkpoint/safetensors/errors.h"
#include "learn/checkpoint/torch/torch_file.h"

namespace hone {

inline void read_every_torch_tensor(std::string bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  const auto w = open_torch(memory_byte_file("fuzz.bin", std::move(bytes)));
  if (!w.ok()) return;
  for (const TensorInfo& t : (*w)->tensors()) {
    HONE_BUG_IF(t.offset < 0 || t.offset > size, "'{}' lies outside", t.name);
    if (t.type.count() > 1 << 20) continue;  // a stride of 0 repeats one element for ever
    std::vector<std::byte> out(static_cast<size_t>(t.type.bytes()));
    const Status done = (*w)->read(t.name, t.type.dtype, out);
    HONE_BUG_IF(!done.ok() && !done.error().is(err::kTensorConversion), "'{}': {}", t.name,
                done.error().text());
  }
}

}  // namespace hone
