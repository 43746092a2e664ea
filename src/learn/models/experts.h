// A mixture of experts in the place of an MLP: a router gives each token k of E gated MLPs and their shares; no
// token is dropped. Shazeer et al., arXiv 1701.06538; as MegaBlocks (arXiv 2211.15841), rows are sorted by
// expert, and each expert multiplies its own.
#pragma once

#include "learn/models/graph.h"

namespace hone {

struct GgufLayout;  // gguf_layout.h

// config.json's key of ExpertStyle::shared_inner.
inline constexpr const char* kSharedInner = "shared_expert_intermediate_size";

// The parts that families differ in; what it says by itself is Qwen3-MoE.
struct ExpertStyle {
  const char* at = "mlp.";  // in a layer; its router is `at`gate.weight [E,C]
  // Its router's name where a newer Transformers saved it; "": the same.
  const char* other_at = "";
  // The weights of expert 3 are `at`experts.3.gate_proj.weight [F,C], ...
  const char *gate = "gate_proj", *up = "up_proj", *down = "down_proj";
  const char* act = "silu";
  // Keys of config.json: experts, experts of a token, F.
  const char *count = "num_experts", *chosen = "num_experts_per_tok",
             *inner = "moe_intermediate_size";
  bool normalizes = true;  // shares sum to 1; else they are the router's probabilities
  // gpt-oss: the router is `at`router with a bias; experts are `at`experts.gate_up_proj [E,C,2F], whose columns
  // are of gate and up by turns, and down_proj [E,F,C], with biases, and a clamped gate.
  bool is_gpt_oss = false;
  // Checkpoints keep `at`experts.gate_up_proj [E,2F,C] and down_proj [E,C,F] as one tensor each.
  bool is_merged = false;
  int64_t shared_inner =
      0;  // of an MLP for every token, `at`shared_expert, with a gate of its own; 0: none
  bool (*is_dense)(const ModelConfig& c, int64_t layer) = nullptr;  // a layer with a usual MLP
};

// Gives the count of experts the name that the style has, if the config has its other name. Call it before the
// defaults of the type are added.
void name_expert_count(ModelConfig& c, const ExpertStyle& style);
// Sizes are in range, and no key asks for something that hone does not compute, such as noise of the router.
// H2302, H2303.
Status check_experts(const ModelConfig& c, const ExpertStyle& style);
// kSharedInner is in range. H2302.
Status check_shared_expert(const ModelConfig& c);
// Whether the layer has a usual MLP by the keys of Qwen: mlp_only_layers, decoder_sparse_step.
bool is_dense_in_qwen(const ModelConfig& c, int64_t layer);
// The matrices of experts among the weights, by the names of Transformers' stacked parameters:
// "model.layers.3.mlp.experts.down_proj", ...
std::vector<std::string> stacked_parameters(const std::vector<ParamSpec>& params);
// The experts that a router chose, i32 [T,k], and their shares [T,k].
struct Routing {
  ValueId chosen, shares;
};
// Experts for x [T,C] with a router of the family's own -> [T,C]; the layer has `at`experts.
ValueId experts_of(ModelGraph& g, const ExpertStyle& style, const std::string& at, ValueId x,
                   const Routing& routing);
// Adds the experts' keys and tensors to a layout, in the place of those of usual MLPs.
void add_experts(GgufLayout& g, const ExpertStyle& style);
// Adds the shared expert's key and tensors to a layout.
void add_shared_expert(GgufLayout& g, const ExpertStyle& style);
// The experts of the layer `h` ("model.layers.3.") for x [T,C] -> [T,C].
ValueId experts(ModelGraph& g, const ExpertStyle& style, const std::string& h, ValueId x);

}  // namespace hone
