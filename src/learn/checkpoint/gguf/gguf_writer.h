// Writing GGUF, version 3: docs/formats/gguf.md.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/store/store.h"
#include "learn/checkpoint/gguf/gguf.h"

namespace hone {

// Integers are written as u32 (lists: i32; kByteList's: u8), floats as f32, which is what llama.cpp
// reads.
inline constexpr const char* kByteList = "tokenizer.ggml.precompiled_charsmap";
using GgufMetadata = std::vector<std::pair<std::string, GgufValue>>;

struct GgufOutput {
  std::string name;            // ggml's
  std::vector<int64_t> shape;  // outermost first
  const GgmlFormat* format;    // with `encode`; rows are whole blocks
};
// Returns the elements of outputs[i] in the file's order; called once for each, in order.
using ReadFloats = std::function<Status(size_t i, std::span<float> out)>;

// The file appears whole or not at all; its folder must be there. Errors: those of the store and of
// `read`.
Status save_gguf(const std::string& path, const GgufMetadata& metadata,
                 std::span<const GgufOutput> outputs, const ReadFloats& read,
                 Store& store = file_store());

}  // namespace hone
