// The layouts of GGUF files of T5, mT5 and UMT5: llama.cpp's architectures "t5" and "t5encoder".
// Reference: llama.cpp, conversion/t5.py and gguf-py/gguf/tensor_mapping.py.
#pragma once

#include "learn/models/gguf_layout.h"

namespace hone {

enum class T5Kind { t5, mt5, umt5 };
// The layout for a model type. `encoder_alone`: true for files that hold only the encoder ("t5encoder").
GgufLayout t5_gguf(T5Kind kind, bool encoder_alone);

}  // namespace hone
