// Shared parts of Llama-like decoders: norms around the sublayers, rotary positions, grouped heads, a
// gated MLP, no position table. Linear weights are [out, in]. A LlamaStyle describes the
// differences of a family; what it says by itself is Llama.
#pragma once

#include "learn/models/experts.h"
#include "learn/models/gguf_layout.h"
#include "learn/models/rotation.h"

namespace hone {

struct LlamaStyle {
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  bool causal = true;              // no: every token sees its whole sequence
  int64_t first_window_layer = 0;  // where the config's layer_types do not say it by layer
  int64_t window_period = 0;       // > 0: of each this many layers the last has no window
  RotationStyle rotation = {};
  // Changes queries and keys before or after rotation, x [T,heads*D]; `at` names the layer's
  // attention ("model.layers.3.self_attn.") and `which` is 'q' or 'k'. nullptr: no change.
  using ChangeHeads = ValueId (*)(ModelGraph& g, const std::string& at, char which, ValueId x,
                                  int64_t heads);
  ChangeHeads before_rotation = nullptr, after_rotation = nullptr;
  bool (*rotates)(const ModelConfig& c, int64_t layer) = nullptr;  // nullptr: every layer does

  // Norms in front of the sublayers and of what they give, by name; "": none.
  const char *attention_norm = "input_layernorm", *attention_out_norm = "",
             *mlp_norm = "post_attention_layernorm", *mlp_out_norm = "", *last_norm = "model.norm";
  ValueId (*norm)(ModelGraph& g, const std::string& at, ValueId x) = nullptr;  // nullptr: rms_norm
  bool parallel = false;  // x + attention(norm(x)) + mlp(norm(x)), with the one attention_norm

  bool fused_qkv = false, fused_gate_up = false;  // qkv_proj, gate_up_proj
  bool gated_attention =
      false;                 // q_proj has a gate after each head's queries: output sigmoid(gate)
  bool gated = true;         // false: down(act(up(x)))
  const char* act = "silu";  // as activations.h; or "relu2", relu(x)^2
  // The activation of an MLP that is not gated, at "model.layers.3.mlp."; nullptr: `act`.
  ValueId (*activation)(ModelGraph& g, const std::string& at, ValueId x) = nullptr;
  const char *output = "o_proj", *up = "up_proj", *down = "down_proj";
  const char *gate = "gate_proj", *mlp = "mlp.";
  int64_t inner = 0;  // size of an MLP; 0: intermediate_size

  // Layers whose layer_types has this value have `mix` in the place of attention: y [T,C] -> [T,C], at
  // "model.layers.3.". "": none.
  const char* mixing_type = "";
  ValueId (*mix)(ModelGraph& g, int64_t layer, const std::string& at, ValueId y) = nullptr;

  double embed_scale = 1, residual_scale = 1;
  bool scales_in_table = false;  // embed_scale belongs to the embedding, not to what follows it
  double attention_scale = 0;    // 0: 1 / sqrt(D)
  double attention_softcap = 0;  // as ModelGraph::self_attention
  // Shares of dropout: of the embeddings, of what the sublayers give.
  double embed_dropout = 0, attention_out_dropout = 0, mlp_out_dropout = 0;
  bool sinks = false;                       // self_attn.sinks [H], as ops::attention has them
  std::optional<ExpertStyle> experts = {};  // in the place of MLPs; none: no experts
  bool only_experts = false;                // no layer has an MLP, nor config.json its size
};

// Reads the common fields, the form of the rotation and the activation. `positions` and `head_dim`
// (0: hidden / heads) are defaults for a config without them. H2302, H2303.
Status read_llama_config(ModelConfig& c, int64_t positions, int64_t head_dim = 0);
// The same for families whose config has every key of its `usual` (ModelType::usual) by default:
// keys that are missing are added. `own`: keys beside those of the usual config and of every
// Transformers config; any other key is refused (H2303), as it may change the model.
// `act_key` names the activation, which must be `style.act`.
Status read_decoder_config(ModelConfig& c, const char* usual, const LlamaStyle& style,
                           std::initializer_list<const char*> own = {},
                           const char* act_key = "hidden_act");
// H2303 unless every entry of layer_types is "full_attention", "sliding_attention" or `other`.
Status check_layer_types(const ModelConfig& c, const std::string& other = "");
inline constexpr const char *kFullAttention = "full_attention",
                            *kSlidingAttention = "sliding_attention";
// Whether config.json says the type of each layer.
bool names_layers(const ModelConfig& c);
// Adds layer_types where config.json has none; `usual`: the layers of a config without their number. H2302.
Status name_layers(ModelConfig& c, int64_t usual,
                   const std::function<const char*(int64_t layer)>& type);
// H2302 unless layer_types, if it is there, has an entry for each layer.
Status check_layer_count(const ModelConfig& c);
// norm(x [T*heads,D]) of x [T,heads*D], in the shape of x.
template <class Norm>
ValueId by_heads(Builder& b, ValueId x, int64_t head_dim, Norm norm) {
  const Shape whole = b.type(x).shape;
  const ValueId heads = ops::reshape(b, x, {whole[0] * whole[1] / head_dim, head_dim});
  return ops::reshape(b, norm(heads), whole);
}
// RMS norm of each head's queries or keys, with the weight `at`q_norm or `at`k_norm [D].
ValueId norm_of_heads(ModelGraph& g, const std::string& at, char which, ValueId x, int64_t heads);
// RMS norm of the whole row of queries or keys [T,heads*D], with a weight of the row's size.
ValueId norm_of_rows(ModelGraph& g, const std::string& at, char which, ValueId x, int64_t heads);
// The same with rms_norm_from_one.
ValueId norm_of_heads_from_one(ModelGraph& g, const std::string& at, char which, ValueId x,
                               int64_t heads);
// RMS norm whose weight is kept as its difference from 1.
ValueId rms_norm_from_one(ModelGraph& g, const std::string& at, ValueId x);
// The same names with a layer norm (and bias), and with a layer norm without bias.
ValueId layer_norm_of(ModelGraph& g, const std::string& at, ValueId x);
ValueId scaled_layer_norm_of(ModelGraph& g, const std::string& at, ValueId x);
// x with each element times a number.
ValueId times(Builder& b, ValueId x, double number);
// Layer from which windows apply in models of the Qwen family: config.json's max_window_layers.
int64_t qwen_window_layer(const ModelConfig& c);
ValueId llama_body(ModelGraph& g, const LlamaStyle& style);  // -> [T,C]
ValueId llama_words(ModelGraph& g);                          // [V,C], the table of words
HeadLayer llama_head(ModelGraph& g, ValueId hidden);
// The same with config.json's final_logit_softcapping.
HeadLayer capped_head(ModelGraph& g, ValueId hidden);
// GGUF files of an architecture of this kind. `head_dim_key`: the key that says the head size; "": it
// follows from the others.
GgufLayout llama_gguf(const std::string& architecture, const std::string& head_dim_key);
// The head size as llama.cpp's converter writes it where config.json says it.
inline constexpr const char* kGgufHeadSize = "attention.key_length";
// Changes to such a layout: tensors of a layer under other names ("" for the weight: there is none),
// and layer norms in the place of RMS norms, with this key of config.json.
void rename_tensors(GgufLayout& g, std::initializer_list<GgufName> names);
void use_layer_norms(GgufLayout& g, const char* eps_key);
// GgufLayout::unwritable for architectures whose windows llama.cpp does not read: llama_gguf() sets it. "": the
// model has none, or one that its positions fill.
std::string window_left_out(const ModelConfig& c);
// The same for models whose layers must have windows but for the last of each
// `period`. "": they do.
std::string windows_other_than(const ModelConfig& c, int64_t period);

// The family with everything that its style decides.
template <LlamaStyle (*kStyle)(const ModelConfig& c)>
Family llama_family(Family f) {
  f.heads = {{Head::causal_lm, "ForCausalLM"}};
  f.body = [](ModelGraph& g) { return llama_body(g, kStyle(g.config)); };
  if (f.head == nullptr) f.head = llama_head;
  if (f.dropouts.empty()) f.dropouts = {"attention_dropout"};
  f.body_prefix = "model.";
  if (!f.module_order) f.module_order = {"self_attn", "mlp"};
  f.unread = {".rotary_emb.inv_freq"};
  f.separate_head = "lm_head.weight";
  return f;
}

}  // namespace hone
