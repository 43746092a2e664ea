// Writes GGUF files, version 3: docs/formats/gguf.md.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/store/store.h"
#include "learn/checkpoint/gguf/gguf.h"

namespace hone {

// The key whose list of integers is written as u8.
inline constexpr const char* kByteList = "tokenizer.ggml.precompiled_charsmap";
// Keys and values in the order in which they are written. They are written in the types that llama.cpp reads: an
// integer as u32, a list of integers as i32 (that of kByteList as u8), floats as f32.
using GgufMetadata = std::vector<std::pair<std::string, GgufValue>>;

// A tensor to write.
struct GgufOutput {
  std::string name;            // llama.cpp's name: "blk.0.attn_q.weight"
  std::vector<int64_t> shape;  // outermost dimension first
  // Must have `encode`. The last dimension must be a multiple of format->block.
  const GgmlFormat* format;
};
// Fills `out` with the elements of outputs[i], row-major. Called once for each i, in ascending order.
using ReadFloats = std::function<Status(size_t i, std::span<float> out)>;

// Writes a GGUF file. It appears complete or not at all. Its folder must exist. Errors: those of the store and of
// `read`.
Status save_gguf(const std::string& path, const GgufMetadata& metadata,
                 std::span<const GgufOutput> outputs, const ReadFloats& read,
                 Store& store = file_store());

}  // namespace hone
