// Shared parts of Llama-like decoders: RMS norms before the sublayers, rotary positions, grouped
// heads, a gated MLP, no position table. Linear weights are [out, in]. A LlamaStyle describes the
// differences of a family.
#pragma once

#include "learn/models/gguf_layout.h"

namespace hone {

struct LlamaStyle {
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  int64_t first_window_layer = 0;  // where the config's layer_types do not say it by layer
  // Changes queries and keys before rotation, x [T,heads*D]; `at` names the layer's attention
  // ("model.layers.3.self_attn.") and `which` is 'q' or 'k'. nullptr: no change.
  ValueId (*before_rotation)(ModelGraph& g, const std::string& at, char which, ValueId x,
                             int64_t heads) = nullptr;
};

// Reads the common fields, the form of the rotation and the activation. `positions` and `head_dim`
// (0: hidden / heads) are defaults for a config without them.
Status read_llama_config(ModelConfig& c, int64_t positions, int64_t head_dim = 0);
// Layer from which windows apply in models of the Qwen family: config.json's max_window_layers.
int64_t qwen_window_layer(const ModelConfig& c);
ValueId llama_body(ModelGraph& g, const LlamaStyle& style);  // -> [T,C]
HeadLayer llama_head(ModelGraph& g, ValueId hidden);
// GGUF files of an architecture of this kind. `head_dim_key`: the key that says the head size; "": it
// follows from the others.
GgufLayout llama_gguf(const std::string& architecture, const std::string& head_dim_key);

// The family with everything that its style decides.
template <LlamaStyle (*kStyle)(const ModelConfig& c)>
Family llama_family(Family f) {
  f.heads = {{Head::causal_lm, "ForCausalLM"}};
  f.body = [](ModelGraph& g) { return llama_body(g, kStyle(g.config)); };
  f.head = llama_head;
  f.dropouts = {"attention_dropout"};
  f.body_prefix = "model.";
  f.unread = {".rotary_emb.inv_freq"};
  f.separate_head = "lm_head.weight";
  return f;
}

}  // namespace hone
