// Makes the metadata of a GGUF file (llama.cpp's format) for a model, with the keys that llama.cpp's
// converter writes.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"
#include "learn/checkpoint/gguf/gguf_writer.h"
#include "learn/models/gguf_layout.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// A model's rotary position embedding (RoPE) as GGUF files describe it.
struct GgufRope {
  double theta = 10000;        // base of the frequencies
  double linear = 1;           // rope_type "linear": the divisor of all frequencies
  std::vector<float> factors;  // a divisor of each frequency: the tensor rope_freqs; empty: none
  int64_t turned = 0;          // the number of channels of a head that are rotated
  // rope_type "longrope": divisors of the frequencies for short texts and for long ones.
  std::vector<float> shorter, longer;
  // longrope: the longest text of the model before it was extended, in tokens; 0: another rope_type.
  int64_t original = 0;
  double scaling = 1;        // longrope: sines and cosines are multiplied by it
  nlohmann::json yarn = {};  // rope_type "yarn": config.json's rope_parameters; null: another type
};

// The layout of GGUF files for the type of `c`, a static object. H2209: llama.cpp does not support this type of
// model, its head, or a trait of its config.
Result<const GgufLayout*> gguf_layout_for(const ModelConfig& c);
// The model's RoPE. H2209: it is a form of YaRN that hone does not write into a GGUF file.
Result<GgufRope> gguf_rope(const ModelConfig& c, const GgufLayout& layout);
// All metadata of the file, the tokenizer's included, except the keys in GgufLayout::lists. `file_type`: llama.cpp's
// number for the element type of most tensors, the value of general.file_type. H2209: the tokenizer is of another kind
// than the type's files have, or llama.cpp does not have the model's pooling. Errors of gguf_vocab()
// (learn/tokenizers) and read_sentence_modules().
Result<GgufMetadata> gguf_metadata(const Pretrained& model, const GgufLayout& layout,
                                   const GgufRope& rope, int64_t file_type);

}  // namespace hone
