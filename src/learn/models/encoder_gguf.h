// The layout of GGUF files of encoders such as BERT: llama.cpp's architecture "bert" and similar ones.
// Reference: llama.cpp, conversion/bert.py and gguf-py/gguf/tensor_mapping.py.
#pragma once

#include "learn/models/encoder.h"
#include "learn/models/gguf_layout.h"

namespace hone {

// The layout for the body that encoder.h builds with this style. `tokenizer`: GgufLayout::tokenizer, the kind of
// vocabulary by which the type's files are recognized.
GgufLayout encoder_gguf(const std::string& architecture, const std::string& tokenizer,
                        const EncoderStyle& style);
// For GgufLayout::unwritable. Returns the fault if the activation differs from llama.cpp's, or if the width of the
// embedding tables differs from the hidden size. "": the config is supported.
std::string encoder_unwritable(const ModelConfig& c, const EncoderStyle& style);

}  // namespace hone
