// Sizes of the layers of Gemma 4 by their number, and the layout of its GGUF files.
// Reference: llama.cpp, conversion/gemma.py and gguf-py/gguf/tensor_mapping.py.
#pragma once

#include "learn/models/graph.h"
#include "learn/models/rotation.h"

namespace hone {

struct GgufLayout;  // gguf_layout.h

inline constexpr int64_t kGemma4Period = 6;      // every sixth layer is without a window
inline constexpr int64_t kGemma4FullHead = 512;  // global_head_dim of a config without it

// The layer is without a window.
bool gemma4_is_full(const ModelConfig& c, int64_t layer);
// Heads of the layers without a window: the same in each of them.
LayerHeads gemma4_full_heads(const ModelConfig& c);
RotationStyle gemma4_rotation(const ModelConfig& c);
// The first of the last layers, which read another's keys.
int64_t gemma4_first_shared(const ModelConfig& c);
// The layer whose keys and values this one reads; -1: it has its own.
int64_t gemma4_keys_of(const ModelConfig& c, int64_t layer);
// The MLP of the layer has twice the size.
bool gemma4_is_wide(const ModelConfig& c, int64_t layer);

const GgufLayout* gemma4_gguf();

}  // namespace hone
