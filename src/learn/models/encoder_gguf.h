// GGUF files of BERT-like encoders: llama.cpp's architecture "bert" and its relatives.
// Reference: llama.cpp, conversion/bert.py and gguf-py/gguf/tensor_mapping.py.
#pragma once

#include "learn/models/encoder.h"
#include "learn/models/gguf_layout.h"

namespace hone {

// The layout of the body of encoder.h: its keys and names with those of the style. `tokenizer`: the
// vocabulary that distinguishes the type's files.
GgufLayout encoder_gguf(const std::string& architecture, const std::string& tokenizer,
                        const EncoderStyle& style);
// GgufLayout::unwritable for it: another activation than llama.cpp's, or tables of another width.
std::string encoder_unwritable(const ModelConfig& c, const EncoderStyle& style);

}  // namespace hone
