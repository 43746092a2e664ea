// A mixture of experts in the place of a layer's MLP (Shazeer et al., arXiv 1701.06538): for each token, a router
// chooses k of E gated MLPs, the experts, and the share of each in the result. No token is dropped. As in MegaBlocks
// (arXiv 2211.15841), the rows of tokens are sorted by expert, and each expert is applied to its rows. Letters: T
// tokens, C hidden size, E experts, k experts of a token, F inner size of an expert.
#pragma once

#include "learn/models/graph.h"

namespace hone {

struct GgufLayout;  // gguf_layout.h

// The config.json key with the inner size of the shared expert (ExpertStyle::shared_inner).
inline constexpr const char* kSharedInner = "shared_expert_intermediate_size";

// The differences between families. The default values describe Qwen3-MoE.
struct ExpertStyle {
  // The module's name within a layer, with a dot at its end. `at` in the comments below is this name after the layer's
  // name. The router is `at`gate.weight [E,C].
  const char* at = "mlp.";
  // The module's name in checkpoints of newer versions of Transformers; "": the same.
  const char* other_at = "";
  // The weights of expert 3 are `at`experts.3.gate_proj.weight [F,C], ...
  const char *gate = "gate_proj", *up = "up_proj", *down = "down_proj";
  const char* act = "silu";
  // Keys of config.json for E, k and F.
  const char *count = "num_experts", *chosen = "num_experts_per_tok",
             *inner = "moe_intermediate_size";
  // true: the shares are the router's probabilities of a token's k experts, divided by their sum. false: the shares are
  // these probabilities themselves.
  bool normalizes = true;
  // gpt-oss: the router is `at`router with a bias. The experts are `at`experts.gate_up_proj [E,C,2F], in which columns
  // of gate and up alternate, and down_proj [E,F,C], with biases; gate and up are clamped.
  bool is_gpt_oss = false;
  // Checkpoints have all experts in two tensors: `at`experts.gate_up_proj [E,2F,C] and `at`experts.down_proj [E,C,F].
  bool is_merged = false;
  // Inner size of the shared expert, a gated MLP for every token, with the weights `at`shared_expert and
  // `at`shared_expert_gate; 0: there is none.
  int64_t shared_inner = 0;
  // Whether the layer has an ordinary MLP and no experts. Null: all layers have experts.
  bool (*is_dense)(const ModelConfig& c, int64_t layer) = nullptr;
};

// Transformers has two keys for E, num_experts and num_local_experts. Renames the key in c.config to style.count. Call
// it before the type's default values are added.
void name_expert_count(ModelConfig& c, const ExpertStyle& style);
// H2302: a size is out of range. H2303: a key requests something that hone does not support, such as noise in the
// router.
Status check_experts(const ModelConfig& c, const ExpertStyle& style);
// H2302: the value of kSharedInner is out of range.
Status check_shared_expert(const ModelConfig& c);
// ExpertStyle::is_dense of the Qwen models, by the keys mlp_only_layers and decoder_sparse_step.
bool is_dense_in_qwen(const ModelConfig& c, int64_t layer);
// The names of the stacked expert matrices among the weights, as Transformers names these parameters:
// "model.layers.3.mlp.experts.down_proj", ...
std::vector<std::string> stacked_parameters(const std::vector<ParamSpec>& params);
// The result of a router.
struct Routing {
  ValueId chosen, shares;  // numbers of the chosen experts, i32[T,k], and their shares, [T,k]
};
// For families with a router of their own: applies to each row of x [T,C] the experts that `routing` chooses -> [T,C].
// `at`: the module's full name, with a dot at its end.
ValueId experts_of(ModelGraph& g, const ExpertStyle& style, const std::string& at, ValueId x,
                   const Routing& routing);
// Adds the keys and tensors of experts to a GGUF layout, and removes those of ordinary MLPs.
void add_experts(GgufLayout& g, const ExpertStyle& style);
// Adds the key and tensors of the shared expert to a GGUF layout.
void add_shared_expert(GgufLayout& g, const ExpertStyle& style);
// Applies router, experts and shared expert of the layer `h` ("model.layers.3.") to x [T,C] -> [T,C].
ValueId experts(ModelGraph& g, const ExpertStyle& style, const std::string& h, ValueId x);

}  // namespace hone
