// The sizes of Gemma 4's layers, which differ from layer to layer, and the layout of its GGUF files.
// Reference: llama.cpp, conversion/gemma.py and gguf-py/gguf/tensor_mapping.py.
#pragma once

#include "learn/models/graph.h"
#include "learn/models/rotation.h"

namespace hone {

struct GgufLayout;  // gguf_layout.h

// Every sixth layer has full attention, by default; the other layers have a sliding window.
inline constexpr int64_t kGemma4Period = 6;
inline constexpr int64_t kGemma4FullHead = 512;  // global_head_dim if config.json has none

// Whether the layer has full attention, without a window.
bool gemma4_is_full(const ModelConfig& c, int64_t layer);
// The heads of the layers with full attention; they are the same in all these layers.
LayerHeads gemma4_full_heads(const ModelConfig& c);
RotationStyle gemma4_rotation(const ModelConfig& c);
// The last layers have no keys and values of their own: they read those of an earlier layer. Returns the number of the
// first of these last layers.
int64_t gemma4_first_shared(const ModelConfig& c);
// The earlier layer whose keys and values this layer reads; -1: it has its own.
int64_t gemma4_keys_of(const ModelConfig& c, int64_t layer);
// Whether the layer's MLP has twice the usual inner size.
bool gemma4_is_wide(const ModelConfig& c, int64_t layer);

const GgufLayout* gemma4_gguf();

}  // namespace hone
