// The metadata of a GGUF file: the keys of llama.cpp's converter for a model.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"
#include "learn/checkpoint/gguf/gguf_writer.h"
#include "learn/models/gguf_layout.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// The rotation of a model in the terms of a file.
struct GgufRope {
  double theta = 10000;
  double linear = 1;           // all frequencies are divided by it
  std::vector<float> factors;  // each by its own: the tensor rope_freqs
  int64_t turned = 0;          // channels of a head
  // longrope: its lists, the length before it, and what sines and cosines are multiplied with
  std::vector<float> shorter, longer;
  int64_t original = 0;
  double scaling = 1;
  nlohmann::json yarn = {};  // its parameters
};

// The layout of files with the model. H2209: llama.cpp has no such model.
Result<const GgufLayout*> gguf_layout_for(const ModelConfig& c);
// The rotation of the model. H2209: rope_type has no form in the file.
Result<GgufRope> gguf_rope(const ModelConfig& c, const GgufLayout& layout);
// All keys but those of GgufLayout::lists. `file_type`: the number of general.file_type.
Result<GgufMetadata> gguf_metadata(const Pretrained& model, const GgufLayout& layout,
                                   const GgufRope& rope, int64_t file_type);

}  // namespace hone
