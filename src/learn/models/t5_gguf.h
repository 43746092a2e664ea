// GGUF files of T5 and its relatives: llama.cpp's architectures "t5" and "t5encoder".
// Reference: llama.cpp, conversion/t5.py and gguf-py/gguf/tensor_mapping.py.
#pragma once

#include "learn/models/gguf_layout.h"

namespace hone {

enum class T5Kind { t5, mt5, umt5 };
// The layout of a type's files. `encoder_alone`: of those of its encoder.
GgufLayout t5_gguf(T5Kind kind, bool encoder_alone);

}  // namespace hone
