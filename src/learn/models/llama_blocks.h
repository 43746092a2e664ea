// Shared parts of decoders such as Llama: norms before or after attention and MLP, rotary positions, grouped key/value
// heads, gated MLPs. Linear weights are [out, in]. A LlamaStyle describes the differences between families; its
// default values describe Llama. Letters are those of graph.h.
#pragma once

#include "learn/models/experts.h"
#include "learn/models/gguf_layout.h"
#include "learn/models/rotation.h"

namespace hone {

struct LlamaStyle {
  // Whether linear layers have biases. qkv_bias: those of q, k and v. output_bias: the output of attention. mlp_bias:
  // those of the MLP.
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  bool causal = true;  // false: every token attends to its whole sequence
  // Which layers have the sliding window, if config.json has no layer_types. window_period p > 0: all layers except
  // every p-th. 0: the layers from first_window_layer on.
  int64_t first_window_layer = 0;
  int64_t window_period = 0;
  RotationStyle rotation = {};
  // Changes queries or keys x [T,heads*D] before or after the rotation. `at`: the layer's attention,
  // "model.layers.3.self_attn."; `which`: 'q' or 'k'. nullptr: no change.
  using ChangeHeads = ValueId (*)(ModelGraph& g, const std::string& at, char which, ValueId x,
                                  int64_t heads);
  ChangeHeads before_rotation = nullptr, after_rotation = nullptr;
  // Whether the layer has rotary positions. nullptr: all layers have them.
  bool (*rotates)(const ModelConfig& c, int64_t layer) = nullptr;

  // The names of the norms before attention, after attention, before the MLP, after the MLP, and after the last layer;
  // "": there is none.
  const char *attention_norm = "input_layernorm", *attention_out_norm = "",
             *mlp_norm = "post_attention_layernorm", *mlp_out_norm = "", *last_norm = "model.norm";
  ValueId (*norm)(ModelGraph& g, const std::string& at, ValueId x) = nullptr;  // nullptr: RMS norm
  // true: a layer is x + attention(n) + mlp(n), where n is attention_norm of x.
  bool parallel = false;

  // fused_qkv: one layer qkv_proj makes q, k and v. fused_gate_up: one layer gate_up_proj makes gate and up.
  bool fused_qkv = false, fused_gate_up = false;
  // true: q_proj also makes a gate for each head; the output of attention is multiplied by sigmoid(gate).
  bool gated_attention = false;
  bool gated = true;         // the MLP is gated; false: it is down(act(up(x)))
  const char* act = "silu";  // a name of activations.h, or "relu2": relu(x)^2
  // Computes the activation of an MLP that is not gated; `at`: "model.layers.3.mlp.". nullptr: `act`.
  ValueId (*activation)(ModelGraph& g, const std::string& at, ValueId x) = nullptr;
  // Names of linear layers. output: of the output of attention. up, down, gate: of the MLP. mlp: the beginning of the
  // MLP's names.
  const char *output = "o_proj", *up = "up_proj", *down = "down_proj";
  const char *gate = "gate_proj", *mlp = "mlp.";
  int64_t inner = 0;  // inner size of an MLP; 0: intermediate_size of config.json

  // Layers whose entry in layer_types is mixing_type have mix(), y [T,C] -> [T,C], in the place of attention.
  // mixing_type "": no layer has it. `at`: the layer's part of the weights' names, "model.layers.3.".
  const char* mixing_type = "";
  ValueId (*mix)(ModelGraph& g, int64_t layer, const std::string& at, ValueId y) = nullptr;

  // embed_scale: factor of the embeddings. residual_scale: factor of the outputs of attention and MLP before they are
  // added to x.
  double embed_scale = 1, residual_scale = 1;
  // true: NEFTune's noise is added after embed_scale is applied; false: before.
  bool scales_in_table = false;
  double attention_scale = 0;    // factor of attention scores; 0: 1 / sqrt(D)
  double attention_softcap = 0;  // as in ModelGraph::self_attention
  // Probabilities of dropout: of the embeddings, of the output of attention, of the output of the MLP.
  double embed_dropout = 0, attention_out_dropout = 0, mlp_out_dropout = 0;
  bool sinks = false;                       // attention has sinks, the weight self_attn.sinks [H]
  std::optional<ExpertStyle> experts = {};  // experts in the place of MLPs; none: MLPs
  bool only_experts = false;  // all layers have experts; config.json has no intermediate_size
};

// Reads the sizes, and checks the rotation and the activation ("silu"). `positions`, `head_dim`: the values if
// config.json has none; head_dim 0: hidden / heads. H2302: a value is not valid. H2303: a value is not supported.
Status read_llama_config(ModelConfig& c, int64_t positions, int64_t head_dim = 0);
// Reads the config of other families of this kind. First adds the keys of `usual` (ModelType::usual) that it lacks.
// `own`: further keys that config.json may have. H2303: it has another key, which could change the model, or the
// activation under `act_key` is not `style.act`. H2302: a value is not valid.
Status read_decoder_config(ModelConfig& c, const char* usual, const LlamaStyle& style,
                           std::initializer_list<const char*> own = {},
                           const char* act_key = "hidden_act");
// H2303: an entry of layer_types is not "full_attention", "sliding_attention" or `other`.
Status check_layer_types(const ModelConfig& c, const std::string& other = "");
inline constexpr const char *kFullAttention = "full_attention",
                            *kSlidingAttention = "sliding_attention";
// Whether config.json has layer_types, the type of each layer.
bool names_layers(const ModelConfig& c);
// Adds layer_types to c.config if it has none; type(i): the type of layer i. `usual`: the number of layers if
// config.json has none. H2302: the number of layers is out of range.
Status name_layers(ModelConfig& c, int64_t usual,
                   const std::function<const char*(int64_t layer)>& type);
// H2302: layer_types does not have one entry for each layer.
Status check_layer_count(const ModelConfig& c);
// Applies `norm` to each head: gives it x [T,heads*D] as [T*heads,D], and returns the result as [T,heads*D].
template <class Norm>
ValueId by_heads(Builder& b, ValueId x, int64_t head_dim, Norm norm) {
  const Shape whole = b.type(x).shape;
  const ValueId heads = ops::reshape(b, x, {whole[0] * whole[1] / head_dim, head_dim});
  return ops::reshape(b, norm(heads), whole);
}
// A ChangeHeads: RMS norm of each head, with the weight `at`q_norm or `at`k_norm [D].
ValueId norm_of_heads(ModelGraph& g, const std::string& at, char which, ValueId x, int64_t heads);
// A ChangeHeads: RMS norm of all heads of a token together, with the weight `at`q_norm or `at`k_norm [heads*D].
ValueId norm_of_rows(ModelGraph& g, const std::string& at, char which, ValueId x, int64_t heads);
// norm_of_heads() with rms_norm_from_one().
ValueId norm_of_heads_from_one(ModelGraph& g, const std::string& at, char which, ValueId x,
                               int64_t heads);
// An RMS norm that multiplies by 1 + `at`.weight.
ValueId rms_norm_from_one(ModelGraph& g, const std::string& at, ValueId x);
// A layer norm with the weights `at`.weight and `at`.bias.
ValueId layer_norm_of(ModelGraph& g, const std::string& at, ValueId x);
// A layer norm with the weight `at`.weight and without a bias.
ValueId scaled_layer_norm_of(ModelGraph& g, const std::string& at, ValueId x);
// Multiplies each element of x by a number.
ValueId times(Builder& b, ValueId x, double number);
// The first layer with a window in models of the Qwen family: max_window_layers of config.json.
int64_t qwen_window_layer(const ModelConfig& c);
ValueId llama_body(ModelGraph& g, const LlamaStyle& style);  // -> [T,C]
ValueId llama_words(ModelGraph& g);                          // the word embedding [V,C]
HeadLayer llama_head(ModelGraph& g, ValueId hidden);
// llama_head() with final_logit_softcapping of config.json.
HeadLayer capped_head(ModelGraph& g, ValueId hidden);
// The GGUF layout for an architecture of this kind. `head_dim_key`: the metadata key that has the head size; "": it
// follows from other keys.
GgufLayout llama_gguf(const std::string& architecture, const std::string& head_dim_key);
// The metadata key under which llama.cpp's converter writes head_dim, if config.json has it.
inline constexpr const char* kGgufHeadSize = "attention.key_length";
// Changes which weights the tensors of a layer (GgufLayout::of_layer) hold: for each entry of `names`, the tensor
// entry.gguf now holds the weight entry.weight. entry.weight "": removes the tensor.
void rename_tensors(GgufLayout& g, std::initializer_list<GgufName> names);
// Replaces the metadata key for the epsilon of RMS norms by the key for layer norms. `eps_key`: the config.json key of
// epsilon.
void use_layer_norms(GgufLayout& g, const char* eps_key);
// A function for GgufLayout::unwritable, where llama_gguf() puts it: for architectures whose sliding windows llama.cpp
// does not support. Returns why the model cannot be written; "": it has no window that is smaller than its maximum
// length.
std::string window_left_out(const ModelConfig& c);
// For GgufLayout::unwritable of models that llama.cpp supports only if all layers except every `period`-th have a
// window. "": layer_types has this form, or is absent.
std::string windows_other_than(const ModelConfig& c, int64_t period);

// Adds to `f` everything that follows from the style.
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
